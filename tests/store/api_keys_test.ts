import assert from "@std/assert";
import type { NewApiKey } from "../../src/keys/api_key.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import type { Database } from "../../src/database/database.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";

function newKey(accountId: number, id: string, more: Partial<NewApiKey> = {}): NewApiKey {
  return {
    id,
    accountId,
    name: `key ${id}`,
    prefix: "dmt_abcd",
    hash: `hash of ${id}`,
    scopes: [],
    models: [],
    onDisconnect: "cancel",
    translationMode: "default",
    promptCache: true,
    capDayNanos: null,
    capMonthNanos: null,
    expiresAt: null,
    ...more,
  };
}

async function setUp(database: Database) {
  const accounts = createAccounts(database);
  const limits = { tier: "pro", requestsPerMinute: 600, burst: 1000 } as const;
  const account = await accounts.create({ name: "ours", ...limits });
  const other = await accounts.create({ name: "other", ...limits });
  return { keys: createApiKeys(database), account, other };
}

eachDatabase(
  "a key comes back with every field as it was given, and with its account",
  async (database) => {
    const { keys, account } = await setUp(database);
    const full = newKey(account.id, "full", {
      scopes: ["chat", "vendor-b"],
      models: ["vendor-b/gpt-4.1", 'odd,"name"'],
      onDisconnect: "drain",
      translationMode: "strict",
      promptCache: false,
      capDayNanos: 9_007_199_254_740_993n,
      capMonthNanos: 0n,
      expiresAt: new Date("2030-01-02T03:04:05.678Z"),
    });
    for (const given of [full, newKey(account.id, "plain")]) {
      const stored = await keys.insert(given);
      const { hash, ...rest } = given;
      assert.ok(stored.createdAt instanceof Date);
      assert.deepEqual(stored, { ...rest, createdAt: stored.createdAt, revokedAt: null });
      assert.deepEqual(await keys.findByHash(hash), { key: stored, account });
    }
  },
);

eachDatabase(
  "an unknown hash is no key, and a known one can't be stored twice",
  async (database) => {
    const { keys, account } = await setUp(database);
    assert.equal(await keys.findByHash("hash of one"), undefined);
    await keys.insert(newKey(account.id, "one"));
    await assert.rejects(
      keys.insert(newKey(account.id, "two", { hash: "hash of one" })),
      duplicate,
    );
    await assert.rejects(keys.insert(newKey(account.id, "one", { hash: "another" })), duplicate);
  },
);

eachDatabase("a key is revoked once, and is still found, with the time", async (database) => {
  const { keys, account } = await setUp(database);
  await keys.insert(newKey(account.id, "one"));
  await keys.insert(newKey(account.id, "two"));
  assert.equal(await keys.revoke("unknown"), false);
  assert.equal(await keys.revoke("one"), true);
  assert.equal(await keys.revoke("one"), false);
  assert.ok((await keys.findByHash("hash of one"))?.key.revokedAt instanceof Date);
  assert.equal((await keys.findByHash("hash of two"))?.key.revokedAt, null);
});

eachDatabase("keys are listed in order of making, of one account or of all", async (database) => {
  const { keys, account, other } = await setUp(database);
  await keys.insert(newKey(account.id, "b"));
  await keys.insert(newKey(other.id, "c"));
  await keys.insert(newKey(account.id, "a"));
  const ids = async (accountId?: number) => (await keys.list(accountId)).map(({ id }) => id);
  assert.deepEqual(await ids(), ["b", "c", "a"]);
  assert.deepEqual(await ids(account.id), ["b", "a"]);
  assert.deepEqual(await ids(999), []);
});

eachDatabase("changes are told of keys and of their accounts, each key once", async (database) => {
  const { keys, account, other } = await setUp(database);
  const start = await keys.changedSince(null);
  assert.deepEqual(start.changes, []);
  for (const id of ["a", "b"]) await keys.insert(newKey(account.id, id));
  await keys.insert(newKey(other.id, "c"));
  const made = await keys.changedSince(start.now);
  assert.deepEqual(made.changes.map(({ id }) => id).sort(), ["a", "b", "c"]);
  const { now: mark } = await later(database);
  assert.deepEqual((await keys.changedSince(mark)).changes, []);

  await keys.revoke("a");
  const revoked = await keys.changedSince(mark);
  assert.deepEqual(revoked.changes.map(({ id }) => id), ["a"]);
  assert.ok(revoked.changes[0]!.changedAt >= mark && revoked.now >= mark);

  await database.query("update accounts set changed_at = clock_timestamp() where id = $1", [
    account.id,
  ]);
  const moved = await keys.changedSince(mark);
  assert.deepEqual(moved.changes.map(({ id }) => id).sort(), ["a", "b"]);
});

onPostgres("another connection sees a revocation at once", async (database, open) => {
  const { keys, account } = await setUp(database);
  await keys.insert(newKey(account.id, "a"));
  const elsewhere = createApiKeys(await open());
  const { now } = await elsewhere.changedSince(null);
  await keys.revoke("a");
  assert.deepEqual((await elsewhere.changedSince(now)).changes.map(({ id }) => id), ["a"]);
});

/** Dates have milliseconds, the database's times microseconds: what is past is past by then. */
async function later(database: Database) {
  await database.query("select pg_sleep(0.002)", []);
  return await createApiKeys(database).changedSince(null);
}

function duplicate(thrown: unknown): boolean {
  return (thrown as { code?: string }).code === "23505";
}
