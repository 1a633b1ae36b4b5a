import assert from "@std/assert";
import { reasonOf } from "../../src/shared/fault.ts";
import { Secret } from "../../src/base/secret.ts";
import { MasterKey } from "../../src/keys/sealing.ts";
import type { Database } from "../../src/database/database.ts";
import {
  findMasterKey,
  type MasterKeySource,
  openMasterKey,
} from "../../src/keys/store/master_key.ts";
import { createVendorKeys } from "../../src/keys/store/vendor_keys.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { newAccount } from "./samples.ts";

const directories: string[] = [];
globalThis.addEventListener("unload", () => {
  for (const path of directories) Deno.removeSync(path, { recursive: true });
});

function directory(): string {
  const path = Deno.makeTempDirSync({ prefix: "master-key-" });
  directories.push(path);
  return path;
}

/** A start of the service, as far as the master key goes. */
function start(database: Database, dataDir: string, configured?: Secret): Promise<MasterKeySource> {
  return openMasterKey({ database, dataDir, configured });
}

const newKey = () => MasterKey.generate().text();
const storeOf = (database: Database, holder: MasterKeySource) =>
  createVendorKeys(database, () => Promise.resolve(holder));
const another = /^Error: MASTER_KEY is not the master key that [^\n]*: set MASTER_KEY to [^\n]*$/;

/** Value of the one stored key, as a process with this master key reads it. */
async function read(database: Database, holder: MasterKeySource): Promise<string> {
  const { changes } = await storeOf(database, holder).changedSince(null);
  const state = changes[0]?.state;
  return state?.kind === "stored" ? state.key.reveal() : String(state?.kind);
}

eachDatabase("without MASTER_KEY one is made once, for its owner's eyes", async (database) => {
  const path = directory();
  const first = await start(database, path);
  const file = `${path}/master.key`;
  assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);
  assert.equal((await Deno.readTextFile(file)).trim(), first.current().text().reveal());
  assert.equal((await start(database, path)).current().fingerprint, first.current().fingerprint);
  assert.equal(first.source, "file");
  assert.deepEqual([...Deno.readDirSync(path)].map(({ name }) => name), ["master.key"]);
});

eachDatabase(
  "a start removes keys that a killed rotation has left, unless one may be running",
  async (database) => {
    const path = directory();
    const { fingerprint } = (await start(database, path)).current();
    const left = ["next", "next.temporary-0aZ9bY8c", "temporary-aaaabbbb"]
      .map((end) => `master.key.${end}`);
    const copies = ["old", "20261130", "original", "next.20261130"].map((end) =>
      `master.key.${end}`
    );
    const other = [...copies, "process-id"];
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
    for (const name of [...left, ...other]) {
      await Deno.writeTextFile(`${path}/${name}`, newKey().reveal());
      await Deno.utime(`${path}/${name}`, hoursAgo(0), hoursAgo(0));
    }
    const names = () => [...Deno.readDirSync(path)].map(({ name }) => name).sort();
    await start(database, path);
    assert.deepEqual(names(), ["master.key", ...left, ...other].sort());
    for (const name of [...left, ...other]) {
      await Deno.utime(`${path}/${name}`, hoursAgo(2), hoursAgo(2));
    }
    assert.equal((await start(database, path)).current().fingerprint, fingerprint);
    assert.deepEqual(names(), ["master.key", ...other].sort());
  },
);

eachDatabase("MASTER_KEY is taken as it is, and nothing is written", async (database) => {
  const [path, key] = [directory(), newKey()];
  const holder = await start(database, path, key);
  assert.equal(holder.current().fingerprint, new MasterKey(key).fingerprint);
  assert.equal(holder.source, "environment");
  assert.deepEqual([...Deno.readDirSync(path)], []);
});

eachDatabase(
  "a process with another MASTER_KEY is stopped, nothing sealed or something",
  async (database) => {
    const [path, key] = [directory(), newKey()];
    const holder = await start(database, path, key);
    await assert.rejects(start(database, directory(), newKey()), another);
    await storeOf(database, holder).set(await newAccount(database), "vendor-b", new Secret("mine"));
    await assert.rejects(start(database, directory(), newKey()), another);
    assert.equal(await read(database, await start(database, directory(), key)), "mine");
  },
);

eachDatabase(
  "what is stored in the database of the master key is its fingerprint alone",
  async (database) => {
    const key = newKey();
    const holder = await start(database, directory(), key);
    const [row] = await database.query("select * from master_key");
    const { fingerprint } = holder.current();
    assert.deepEqual([row?.version, row?.fingerprint], [1n, fingerprint]);
    assert.ok(!JSON.stringify(Object.values(row!).map(String)).includes(key.reveal()));
  },
);

eachDatabase(
  "processes with made keys share a database until one of them seals",
  async (database) => {
    const [one, two] = [directory(), directory()];
    const holder = await start(database, one);
    const other = await start(database, two);
    const account = await newAccount(database);
    await storeOf(database, holder).set(account, "vendor-b", new Secret("mine"));
    const refused = storeOf(database, other).set(account, "vendor-c", new Secret("x"));
    await assert.rejects(refused, {
      code: "internal_error",
      message: /^Nothing was stored: this process has another MASTER_KEY /,
      note: /^MASTER_KEY is not set, and DATA_DIR\/master.key is not/,
    });
    assert.equal((await storeOf(database, other).changedSince(null)).masterKeyMatches, false);
    await assert.rejects(start(database, two), /^Error: MASTER_KEY is not set, and DATA_DIR/);
    assert.equal(await read(database, await start(database, one)), "mine");
  },
);

eachDatabase(
  "MASTER_KEY may be set after a start without it, while nothing is sealed",
  async (database) => {
    const path = directory();
    await start(database, path);
    const key = newKey();
    assert.equal((await start(database, path, key)).source, "environment");
    await assert.rejects(start(database, path), /MASTER_KEY is not set, and/);
  },
);

eachDatabase("a made key with stored keys under it is the one to go on with", async (database) => {
  const path = directory();
  const holder = await start(database, path);
  await storeOf(database, holder).set(await newAccount(database), "vendor-b", new Secret("mine"));
  const key = newKey();
  await assert.rejects(start(database, path, key), /but DATA_DIR\/master.key is: leave MASTER_KEY/);
  // As the line says: rotate to it, then set it.
  const command = await findMasterKey({ database, dataDir: path, configured: undefined });
  await storeOf(database, command).rotate(new MasterKey(key));
  assert.equal(await read(database, await start(database, path, key)), "mine");
  assert.equal(await read(database, await start(database, path)), "mine");
});

eachDatabase(
  "a lost file isn't replaced by a new key; the line says what to do",
  async (database) => {
    const path = directory();
    const holder = await start(database, path);
    await storeOf(database, holder).set(await newAccount(database), "vendor-b", new Secret("mine"));
    await Deno.remove(`${path}/master.key`);
    await assert.rejects(
      start(database, path),
      /^Error: MASTER_KEY is missing .*: set MASTER_KEY to .* if it is lost, .*webhook list.* set MASTER_KEY to a new one/,
    );
    assert.deepEqual([...Deno.readDirSync(path)], []);
  },
);

eachDatabase("a damaged file is named, without its text", async (database) => {
  const path = directory();
  await Deno.writeTextFile(`${path}/master.key`, "canary");
  await assert.rejects(start(database, path), (thrown: unknown) => {
    assert.match(String(thrown), /MASTER_KEY is not set and .*\/master\.key is damaged/);
    return !String(thrown).includes("canary");
  });
});

eachDatabase("a rotation puts the new key where the old one was kept", async (database) => {
  const path = directory();
  const holder = await start(database, path);
  await storeOf(database, holder).set(await newAccount(database), "vendor-b", new Secret("mine"));
  // Another process that shares the directory.
  const sharing = await start(database, path);
  const next = MasterKey.generate();
  assert.equal((await storeOf(database, holder).rotate(next)).source, "file");
  assert.equal((await Deno.readTextFile(`${path}/master.key`)).trim(), next.text().reveal());
  assert.deepEqual([...Deno.readDirSync(path)].map(({ name }) => name), ["master.key"]);
  assert.equal((await Deno.stat(`${path}/master.key`)).mode! & 0o777, 0o600);
  assert.equal(await read(database, holder), "mine");
  assert.equal(await read(database, sharing), "mine", "it has read the file again");
});

eachDatabase(
  "a process stores keys after another one's rotation, before it ends too",
  async (database) => {
    const path = directory();
    const holder = await start(database, path);
    const account = await newAccount(database);
    await storeOf(database, holder).set(account, "vendor-b", new Secret("mine"));
    const [late, early] = [await start(database, path), await start(database, path)];
    const cut = { ...methods(holder), adopt: () => Promise.reject(new Error("killed")) };
    await assert.rejects(storeOf(database, cut).rotate(MasterKey.generate()), /killed/);
    // The file of the old key is still there.
    assert.equal((await storeOf(database, early).changedSince(null)).masterKeyMatches, true);
    await storeOf(database, early).set(account, "vendor-b", new Secret("early"));
    const next = await start(database, path);
    assert.equal(await read(database, next), "early");
    await storeOf(database, next).rotate(MasterKey.generate());
    await storeOf(database, late).set(account, "vendor-b", new Secret("late"));
    assert.equal(await read(database, next), "late");
  },
);

eachDatabase(
  "a rotation that is cut keeps the key of one that was cut after its commit",
  async (database) => {
    const path = directory();
    const holder = await start(database, path);
    await storeOf(database, holder).set(await newAccount(database), "vendor-b", new Secret("mine"));
    const other = await start(database, path);
    const cut = { ...methods(holder), adopt: () => Promise.reject(new Error("killed")) };
    await assert.rejects(storeOf(database, cut).rotate(MasterKey.generate()), /killed/);
    const cutBefore = {
      ...methods(other),
      prepare: (key: MasterKey) =>
        other.prepare(key).then(() => Promise.reject(new Error("killed"))),
    };
    await assert.rejects(storeOf(database, cutBefore).rotate(MasterKey.generate()), /killed/);
    assert.equal(await read(database, await start(database, path)), "mine");
  },
);

eachDatabase(
  "a rotation that ends after a later one leaves that one's key in its place",
  async (database) => {
    const path = directory();
    const holder = await start(database, path);
    await storeOf(database, holder).set(await newAccount(database), "vendor-b", new Secret("mine"));
    const other = await start(database, path);
    const [first, second] = [MasterKey.generate(), MasterKey.generate()];
    // The first has committed, and its process is paused.
    let isPaused = false;
    const paused: Database = {
      ...database,
      async transaction(work) {
        const done = await database.transaction(work);
        if (isPaused) return done;
        isPaused = true;
        await storeOf(database, other).rotate(second);
        return done;
      },
    };
    await storeOf(paused, holder).rotate(first);
    assert.equal(await read(database, await start(database, path)), "mine");
    assert.equal(await read(database, holder), "mine");
  },
);

eachDatabase(
  "a rotation that was cut after its commit is finished by the next start",
  async (database) => {
    const path = directory();
    const holder = await start(database, path);
    await storeOf(database, holder).set(await newAccount(database), "vendor-b", new Secret("mine"));
    const next = MasterKey.generate();
    const cut = { ...methods(holder), adopt: () => Promise.reject(new Error("killed")) };
    await assert.rejects(storeOf(database, cut).rotate(next), /killed/);
    assert.notEqual((await Deno.readTextFile(`${path}/master.key`)).trim(), next.text().reveal());
    assert.equal(await read(database, await start(database, path)), "mine");
    assert.equal((await Deno.readTextFile(`${path}/master.key`)).trim(), next.text().reveal());
  },
);

eachDatabase(
  "a rotation that was cut before its commit leaves the old key in force",
  async (database) => {
    const path = directory();
    const holder = await start(database, path);
    await storeOf(database, holder).set(await newAccount(database), "vendor-b", new Secret("mine"));
    const next = MasterKey.generate();
    const cut = {
      ...methods(holder),
      prepare: (key: MasterKey) =>
        holder.prepare(key).then(() => Promise.reject(new Error("killed"))),
    };
    await assert.rejects(storeOf(database, cut).rotate(next), /killed/);
    const again = await start(database, path);
    assert.equal(await read(database, again), "mine");
    assert.equal((await storeOf(database, again).rotate(next)).resealed, 1);
    assert.equal(await read(database, await start(database, path)), "mine");
  },
);

eachDatabase("a command beside the servers makes no master key of its own", async (database) => {
  const path = directory();
  const parts = { database, dataDir: path, configured: undefined };
  await assert.rejects(findMasterKey(parts), /^Error: MASTER_KEY is missing, and DATA_DIR=/);
  assert.deepEqual([...Deno.readDirSync(path)], []);
  await start(database, path);
  assert.equal((await findMasterKey(parts)).source, "file");
});

onPostgres(
  "of processes that start at once with different MASTER_KEYs one goes on",
  async (_, open) => {
    const starts = await Promise.allSettled(
      [1, 2, 3].map(async () => await start(await open(), directory(), newKey())),
    );
    const refused = starts.filter((one) => one.status === "rejected");
    assert.equal(refused.length, 2);
    for (const { reason } of refused) assert.match(`Error: ${reasonOf(reason)}`, another);
  },
);

/** The holder's methods as fields of a plain object, so that one can be replaced. */
function methods(holder: MasterKeySource): MasterKeySource {
  return {
    source: holder.source,
    current: () => holder.current(),
    prepare: (next) => holder.prepare(next),
    adopt: (next) => holder.adopt(next),
    reread: (claimed) => holder.reread(claimed),
  };
}
