import assert from "@std/assert";
import { createLog, type Log } from "../../src/base/log.ts";
import { systemClock } from "../../src/base/clock.ts";
import { Secret } from "../../src/base/secret.ts";
import { vendorKeyCommands, type VendorKeyDeps } from "../../src/admin/vendor_key_commands.ts";
import { MasterKey } from "../../src/keys/sealing.ts";
import { VendorKeyCache } from "../../src/keys/vendor_key_cache.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/open.ts";
import { type MasterKeySource, openMasterKey } from "../../src/keys/store/master_key.ts";
import { createVendorKeys } from "../../src/keys/store/vendor_keys.ts";
import { createRegistry } from "../../src/vendors/registry.ts";
import { eachDatabase } from "../support/databases.ts";
import { ensureMigrated } from "../support/new_database.ts";
import { newAccount } from "./samples.ts";

const values = {
  stored: "sk-canary-of-a-stored-key-4f1d",
  replaced: "sk-canary-of-a-replaced-key-9b2e",
  removed: "sk-canary-of-a-removed-key-77aa",
  refused: "sk-canary-of-a refused-key-0c0c",
};
const masterKeys = ["first", "second", "third"].map(() => MasterKey.generate().text().reveal());

/** The forms in which a value could slip through. */
function forms(value: string): string[] {
  const bytes = new TextEncoder().encode(value);
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  // Base64 has three phases: in each, what is whole in the middle.
  const base64 = [0, 1, 2].map((shift) => btoa("x".repeat(shift) + value).slice(4, -4));
  return [value, hex, ...base64, JSON.stringify(value).slice(1, -1)];
}

/** Forms of a master key: as text, and the bytes that it stands for. */
function keyForms(text: string): string[] {
  const hex = [...atob(text)].map((one) => one.charCodeAt(0).toString(16).padStart(2, "0")).join(
    "",
  );
  return [text, text.slice(0, 20), hex];
}

/** All output: answers, errors and the log. */
class Said {
  readonly lines: string[] = [];

  note = (what: unknown): void => {
    this.lines.push(Deno.inspect(what, { depth: 20 }), String(what), JSON.stringify(what) ?? "");
  };

  /** All output, once it contains what it should. */
  all(...phrases: string[]): string {
    const text = this.lines.join("\n");
    for (const phrase of phrases) assert.ok(text.includes(phrase), `nobody said: ${phrase}`);
    return text;
  }
}

/** The parts of a process, whose log goes to `said`. */
async function processOf(said: Said, database: Database, dataDir: string, masterKey: string) {
  const log = createLog((line) => said.lines.push(line), systemClock.now);
  const configured = new Secret(masterKey);
  const holder = await openMasterKey({ database, dataDir, configured });
  return { ...partsOf(database, holder, log), holder };
}

function partsOf(database: Database, holder: MasterKeySource, log: Log) {
  const registry = createRegistry({}, []);
  const vendorKeys = createVendorKeys(database, () => Promise.resolve(holder));
  const ring = new VendorKeyCache({ store: vendorKeys, registry, log });
  const accounts = createAccounts(database);
  const vendorKeysChanged = () => ring.refresh();
  const clock = systemClock;
  const parts: VendorKeyDeps = { accounts, registry, vendorKeys, vendorKeysChanged, clock };
  return { vendorKeys, ring, parts, log };
}

/** Uses the keys in every way, wrong ones included; returns all output meanwhile. */
async function provoke(database: Database, dataDir: string): Promise<string> {
  const said = new Said();
  const { note } = said;
  await newAccount(database, "operator");
  const ours = await processOf(said, database, dataDir, masterKeys[0]!);
  const run = (name: string, options: Record<string, string>, input = "") =>
    vendorKeyCommands[name]!.run(ours.parts, options, [], input).then(note, note);
  const b = { vendor: "vendor-b" };
  await run("vendor-key set", b, values.replaced);
  await run("vendor-key set", b, values.stored);
  await run("vendor-key set", { vendor: "vendor-c" }, values.removed);
  await run("vendor-key remove", { vendor: "vendor-c" });
  await run("vendor-key set", b, values.refused);
  await run("vendor-key set", { vendor: values.stored }, values.stored);
  await run("vendor-key set", { vendor: "vendor-f" }, values.stored);
  await run("vendor-key set", { ...b, account: "nobody" }, values.stored);
  await run("vendor-key list", {});
  await run("master-key rotate", {}, masterKeys[1]);
  await run("master-key rotate", {}, masterKeys[1]!.slice(1));
  // A copied row: the ring logs it, calls fail, the rotation is refused.
  await database.query(
    `insert into vendor_keys (account_id, vendor, sealed, key_version, last_four)
     select account_id, 'vendor-a', sealed, key_version, last_four from vendor_keys
     where vendor = 'vendor-b'`,
  );
  await ours.ring.refresh();
  await ours.ring.find(1, "vendor-a").then(note, note);
  await run("master-key rotate", {}, masterKeys[2]);
  await processOf(said, database, dataDir, masterKeys[2]!).then(note, note);
  // A process whose master key is another by now.
  const wrong = { ...ours.holder, current: () => new MasterKey(new Secret(masterKeys[2]!)) };
  const other = partsOf(database, wrong, ours.log);
  await other.ring.refresh();
  await other.ring.find(1, "vendor-b").then(note, note);
  await other.vendorKeys.set(1, "vendor-b", new Secret(values.stored)).then(note, note);
  const found = await ours.ring.find(1, "vendor-b");
  assert.equal(found?.reveal(), values.stored, "what is searched for was there");
  for (const part of [ours, ours.holder.current(), other, found]) note(part);
  return said.all(
    "a stored vendor key can't be opened",
    "so nothing was changed",
    "last_four",
    "MASTER_KEY is not the master key",
    "vendor keys are now sealed under another MASTER_KEY",
  );
}

/** Every row of every table as text. */
async function dump(database: Database): Promise<string> {
  const tables = await database.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public'",
  );
  const texts = await Promise.all(tables.map(async ({ name }) => {
    const rows = await database.query<{ text: string }>(`select t::text as text from "${name}" t`);
    return rows.map(({ text }) => `${name} ${text}`).join("\n");
  }));
  const text = texts.join("\n");
  assert.match(text, /vendor_keys \(1,vendor-b,2,v1\.[\w-]{40}/, "the sealed key is in the dump");
  return text;
}

function assertAbsent(text: string, where: string, masterKeysToo = true): void {
  for (const [name, value] of Object.entries(values)) {
    for (const form of forms(value)) assert.ok(!text.includes(form), `${name} is in ${where}`);
  }
  for (const key of masterKeysToo ? masterKeys : []) {
    for (const form of keyForms(key)) {
      assert.ok(!text.includes(form), `a master key is in ${where}`);
    }
  }
}

eachDatabase(
  "no stored key and no master key is in a table, a log line, an answer or an error",
  async (database) => {
    const directory = await Deno.makeTempDir({ prefix: "vendor-key-secrecy-" });
    try {
      assertAbsent(await provoke(database, directory), "what was said");
      assertAbsent(await dump(database), "the database");
      assert.deepEqual([...Deno.readDirSync(directory)], []);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
);

Deno.test("no stored key is in a file of the data directory, the embedded database's included", async () => {
  const directory = await Deno.makeTempDir({ prefix: "vendor-key-secrecy-" });
  try {
    await ensureMigrated(directory);
    const database = await openDatabase(undefined, directory);
    await provoke(database, directory);
    const sealed = (await database.query<{ sealed: string }>(
      "select sealed from vendor_keys where vendor = 'vendor-b'",
    ))[0]!.sealed;
    await database.query("checkpoint");
    await database.close();
    let found = false;
    for await (const path of filesBelow(directory)) {
      const text = new TextDecoder("latin1").decode(await Deno.readFile(path));
      found ||= text.includes(sealed);
      assertAbsent(text, path);
    }
    assert.ok(found, "the search finds what is there: the sealed text");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

async function* filesBelow(directory: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(directory)) {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory) yield* filesBelow(path);
    else if (entry.isFile) yield path;
  }
}
