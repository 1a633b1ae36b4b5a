import assert from "@std/assert";
import { commandFailure } from "../../src/admin/command.ts";
import { Secret } from "../../src/base/secret.ts";
import { MasterKey } from "../../src/keys/sealing.ts";
import type { VendorKeyStore } from "../../src/keys/vendor_key.ts";
import type { Database } from "../../src/database/database.ts";
import { Fault } from "../../src/shared/fault.ts";
import type { MasterKeySource } from "../../src/keys/store/master_key.ts";
import { createVendorKeys } from "../../src/keys/store/vendor_keys.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { newAccount } from "./samples.ts";

/** A process's master key that counts what a rotation makes of it. */
function holder(key = MasterKey.generate()): MasterKeySource & { steps: string[] } {
  let current = key;
  const steps: string[] = [];
  return {
    steps,
    source: "environment",
    current: () => current,
    prepare: () => Promise.resolve(void steps.push("prepare")),
    adopt: (next) => {
      current = next;
      return Promise.resolve(void steps.push("adopt"));
    },
    reread: () => Promise.resolve(),
  };
}

const storeOf = (database: Database, of: MasterKeySource = holder()) =>
  createVendorKeys(database, () => Promise.resolve(of));

/** What opens, by account and vendor: the value, or why there is none. */
async function opened(keys: VendorKeyStore): Promise<Record<string, string>> {
  const { changes } = await keys.changedSince(null);
  return Object.fromEntries(changes.map(({ accountId, vendor, state }) => {
    const shown = state.kind === "stored" ? state.key.reveal() : state.kind;
    return [`${accountId} ${vendor}`, shown];
  }));
}

const secret = (value: string) => new Secret(value);

eachDatabase(
  "a stored key comes back as it was given; it is listed without it",
  async (database) => {
    const account = await newAccount(database);
    const keys = storeOf(database);
    const stored = await keys.set(account, "vendor-b", secret("sk-0123456789-abcd"));
    assert.deepEqual([stored.accountId, stored.vendor, stored.lastFour], [
      account,
      "vendor-b",
      "abcd",
    ]);
    assert.deepEqual(await opened(keys), { [`${account} vendor-b`]: "sk-0123456789-abcd" });
    assert.deepEqual(await keys.list(), [stored]);
    assert.deepEqual(Object.keys(stored), [
      ...["accountId", "vendor", "lastFour", "createdAt", "changedAt"],
    ]);
  },
);

eachDatabase("a second key replaces the first; a removed one is gone, once", async (database) => {
  const account = await newAccount(database);
  const other = await newAccount(database, "other");
  const keys = storeOf(database);
  const first = await keys.set(account, "vendor-b", secret("first"));
  await keys.set(account, "vendor-b", secret("second"));
  await keys.set(other, "vendor-b", secret("theirs"));
  const at = `${account} vendor-b`;
  const theirs = { [`${other} vendor-b`]: "theirs" };
  assert.deepEqual(await opened(keys), { [at]: "second", ...theirs });
  assert.deepEqual((await keys.list(account))[0]?.createdAt, first.createdAt);
  assert.equal(await keys.remove(account, "vendor-b"), true);
  assert.equal(await keys.remove(account, "vendor-b"), false);
  assert.equal(await keys.remove(account, "vendor-c"), false);
  assert.deepEqual(await opened(keys), { [at]: "removed", ...theirs });
  assert.deepEqual((await keys.list()).map(({ accountId }) => accountId), [other]);
  assert.deepEqual(await keys.list(account), []);
  await keys.set(account, "vendor-b", secret("third"));
  assert.deepEqual(await opened(keys), { [at]: "third", ...theirs });
});

eachDatabase(
  "changes are told once their time has come, with growing revisions",
  async (database) => {
    const account = await newAccount(database);
    const keys = storeOf(database);
    const start = await keys.changedSince(null);
    assert.deepEqual([start.changes, start.masterKeyMatches], [[], true]);
    const revisions: bigint[] = [];
    const record = async () => {
      const { changes } = await keys.changedSince(start.now);
      assert.equal(changes.length, 1);
      revisions.push(changes[0]!.revision);
    };
    await keys.set(account, "vendor-b", secret("one"));
    await record();
    await keys.remove(account, "vendor-b");
    await record();
    await keys.set(account, "vendor-b", secret("two"));
    await record();
    assert.deepEqual(revisions, [1n, 2n, 3n]);
    await database.query("select pg_sleep(0.002)");
    const { now } = await keys.changedSince(null);
    await database.query("select pg_sleep(0.002)");
    assert.deepEqual((await keys.changedSince(now)).changes, []);
  },
);

eachDatabase("a row that was changed or copied elsewhere doesn't open", async (database) => {
  const account = await newAccount(database);
  const other = await newAccount(database, "other");
  const keys = storeOf(database);
  await keys.set(account, "vendor-b", secret("mine"));
  await database.query(
    `insert into vendor_keys (account_id, vendor, sealed, key_version, last_four)
     select v.account_id, v.vendor, k.sealed, k.key_version, k.last_four
     from vendor_keys k, (values (${other}, 'vendor-b'), (${account}, 'vendor-c')) v (account_id, vendor)`,
  );
  await keys.set(account, "vendor-a", secret("yours"));
  await database.query("update vendor_keys set key_version = 7 where vendor = 'vendor-a'");
  assert.deepEqual(await opened(keys), {
    [`${account} vendor-b`]: "mine",
    [`${other} vendor-b`]: "unreadable",
    [`${account} vendor-c`]: "unreadable",
    [`${account} vendor-a`]: "unreadable",
  });
});

eachDatabase(
  "a rotation seals all anew; the old master key opens nothing more",
  async (database) => {
    const ours = holder();
    const old = holder(ours.current());
    const keys = storeOf(database, ours);
    const accounts = [await newAccount(database), await newAccount(database, "b")];
    for (const account of accounts) {
      for (const vendor of ["vendor-a", "vendor-b"]) {
        await keys.set(account, vendor, secret(`of ${account} ${vendor}`));
      }
    }
    await keys.remove(accounts[0]!, "vendor-a");
    const before = await opened(keys);
    const listed = await keys.list();
    const next = MasterKey.generate();
    const expected = { resealed: 3, already: false, source: "environment" } as const;
    assert.deepEqual(await keys.rotate(next), expected);
    assert.deepEqual(ours.steps, ["prepare", "adopt"]);
    assert.deepEqual(await opened(keys), before);
    assert.deepEqual(await keys.list(), listed, "the values' own times didn't move");
    assert.deepEqual(await opened(storeOf(database, holder(next))), before);

    const stale = storeOf(database, old);
    const { masterKeyMatches, changes } = await stale.changedSince(null);
    assert.equal(masterKeyMatches, false);
    assert.deepEqual(changes.filter(({ state }) => state.kind === "stored"), []);
    const refused = await stale.set(accounts[0]!, "vendor-c", secret("x")).catch((one) => one);
    assert.ok(refused instanceof Fault && refused.code === "internal_error");
    assert.match(refused.message, /^Nothing was stored: .* The operator has to set that one/);
    assert.match(commandFailure(refused), /^MASTER_KEY is not .*: set MASTER_KEY to the one that /);
    await assert.rejects(stale.rotate(MasterKey.generate()), /^Error: MASTER_KEY is not/);
    assert.deepEqual(await opened(keys), before);
  },
);

eachDatabase(
  "a rotation given again finds that it is done, whichever key it comes from",
  async (database) => {
    const account = await newAccount(database);
    const [ours, beside] = [holder(), holder()];
    const keys = storeOf(database, ours);
    await keys.set(account, "vendor-b", secret("mine"));
    const next = MasterKey.generate();
    await keys.rotate(next);
    const again = { resealed: 0, already: true, source: "environment" } as const;
    assert.deepEqual(await keys.rotate(next), again);
    // The environment of the operator's shell still holds an older key.
    assert.deepEqual(await storeOf(database, beside).rotate(next), again);
    assert.equal(beside.current(), next);
    assert.deepEqual(await opened(keys), { [`${account} vendor-b`]: "mine" });
  },
);

eachDatabase("a rotation that fails in the middle leaves all as it was", async (database) => {
  const ours = holder();
  const account = await newAccount(database);
  const keys = storeOf(database, ours);
  for (const vendor of ["vendor-a", "vendor-b"]) await keys.set(account, vendor, secret(vendor));
  const before = await database.query("select * from vendor_keys order by vendor");
  const key = ours.current();
  const failing = { ...ours, prepare: () => Promise.reject(new Error("the disk is full")) };
  await assert.rejects(storeOf(database, failing).rotate(MasterKey.generate()), /disk is full/);
  assert.deepEqual(await database.query("select * from vendor_keys order by vendor"), before);
  assert.equal(ours.current(), key);
  assert.deepEqual(await opened(keys), {
    [`${account} vendor-a`]: "vendor-a",
    [`${account} vendor-b`]: "vendor-b",
  });

  await database.query("update vendor_keys set sealed = 'v1.x' where vendor = 'vendor-b'");
  await assert.rejects(
    keys.rotate(MasterKey.generate()),
    /^Error: The key of vendor-b stored for account \d+ can't be opened .* nothing was changed/,
  );
  assert.equal(ours.current(), key);
  await keys.remove(account, "vendor-b");
  assert.equal((await keys.rotate(MasterKey.generate())).resealed, 1);
});

eachDatabase("more keys than one statement takes are all rotated", async (database) => {
  const account = await newAccount(database);
  const keys = storeOf(database);
  await keys.set(account, "vendor-b", secret("first"));
  const { current } = holder();
  await keys.rotate(current());
  const rows = Array.from({ length: 1500 }, (_, at) => {
    const place = { accountId: account, vendor: `custom-${at}`, keyVersion: 2n };
    return { vendor: place.vendor, sealed: current().seal(secret(`value ${at}`), place) };
  });
  await database.query(
    `insert into vendor_keys (account_id, vendor, sealed, key_version, last_four)
     select $1, vendor, sealed, 2, '' from json_to_recordset($2::text::json)
     as r(vendor text, sealed text)`,
    [account, JSON.stringify(rows)],
  );
  assert.equal((await keys.rotate(MasterKey.generate())).resealed, 1501);
  const values = Object.values(await opened(keys));
  assert.deepEqual(new Set(values), new Set(["first", ...rows.map((_, at) => `value ${at}`)]));
});

eachDatabase(
  "who has lost the master key removes the stored keys and rotates",
  async (database) => {
    const account = await newAccount(database);
    await storeOf(database).set(account, "vendor-b", secret("lost"));
    const late = holder();
    const keys = storeOf(database, late);
    await assert.rejects(keys.rotate(MasterKey.generate()), /MASTER_KEY is not/);
    await keys.remove(account, "vendor-b");
    assert.equal((await keys.rotate(late.current())).already, false);
    await keys.set(account, "vendor-b", secret("new"));
    assert.deepEqual(await opened(keys), { [`${account} vendor-b`]: "new" });
  },
);

onPostgres(
  "keys that are stored while the master key is rotated are sealed under one or refused",
  async (database, open) => {
    const account = await newAccount(database);
    const first = holder();
    const processes = await Promise.all([1, 2, 3].map(async () => {
      const own = holder(first.current());
      return storeOf(await open(), own);
    }));
    const next = MasterKey.generate();
    const setting = processes.flatMap((keys, process) =>
      Array.from({ length: 15 }, async (_, at) => {
        const vendor = `v-${process}-${at}`;
        return await keys.set(account, vendor, secret(vendor)).then(() => vendor, (thrown) => {
          assert.match(commandFailure(thrown), /^MASTER_KEY is not/);
        });
      })
    );
    const rotating = storeOf(database, first).rotate(next);
    const stored = (await Promise.all(setting)).filter((vendor) => vendor !== undefined);
    await rotating;
    const all = await opened(storeOf(database, holder(next)));
    assert.deepEqual(
      new Set(Object.entries(all).map(([place, value]) => `${place} = ${value}`)),
      new Set(stored.map((vendor) => `${account} ${vendor} = ${vendor}`)),
    );
  },
);

onPostgres(
  "of two rotations at once to different keys one is done and one refused",
  async (database, open) => {
    const account = await newAccount(database);
    const first = holder();
    await storeOf(database, first).set(account, "vendor-b", secret("mine"));
    const candidates = [MasterKey.generate(), MasterKey.generate()];
    const ended = await Promise.allSettled(
      candidates.map(async (next) =>
        await storeOf(await open(), holder(first.current())).rotate(next)
      ),
    );
    const winner = ended.findIndex(({ status }) => status === "fulfilled");
    assert.deepEqual(ended.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    const keys = storeOf(database, holder(candidates[winner]!));
    assert.deepEqual(await opened(keys), { [`${account} vendor-b`]: "mine" });
  },
);
