import assert from "@std/assert";
import type { NewApiKey } from "../../src/keys/api_key.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import { type ChangeList, maxListedChanges } from "../../src/keys/key_changes.ts";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import { createKeyChanges } from "../../src/keys/store/key_changes.ts";
import type { Database } from "../../src/database/database.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { observed } from "./samples.ts";

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
    const { keys, account: first, other: account } = await setUp(database);
    await keys.insert(newKey(first.id, "another"));
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
      assert.deepEqual(await keys.findById(given.id), { key: stored, account });
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

eachDatabase(
  "keys are listed by id, of one account or of all, and found by name until revoked",
  async (database) => {
    const { keys, account, other } = await setUp(database);
    await keys.insert(newKey(account.id, "b"));
    await keys.insert(newKey(other.id, "c"));
    await keys.insert(newKey(account.id, "a"));
    const ids = async (accountId: number | null) =>
      (await keys.page(accountId, { after: null, limit: 10 })).map(({ id }) => id);
    assert.deepEqual(await ids(null), ["a", "b", "c"]);
    assert.deepEqual(await ids(account.id), ["a", "b"]);
    assert.deepEqual(await ids(999), []);
    await keys.insert(newKey(other.id, "d", { name: "key b" }));
    const named = async (limit: number) => (await keys.named("key b", limit)).map(({ id }) => id);
    assert.deepEqual([await named(9), await named(1)], [["b", "d"], ["b"]]);
    await keys.revoke("b");
    assert.deepEqual(await named(9), ["d"]);
  },
);

eachDatabase("changes are listed of keys and of accounts apart", async (database) => {
  const { keys, account, other } = await setUp(database);
  const changes = createKeyChanges(database);
  const start = await changes.changedSince(null);
  assert.deepEqual([start.keys, start.accounts], [[], []]);
  for (const id of ["a", "b"]) await keys.insert(newKey(account.id, id));
  await keys.insert(newKey(other.id, "c"));
  const made = await changes.changedSince(start.now);
  assert.deepEqual(idsOf(made.keys).sort(), ["a", "b", "c"]);
  const { now: mark } = await later(database);
  const none = await changes.changedSince(mark);
  assert.deepEqual([none.keys, none.accounts], [[], []]);

  await keys.revoke("a");
  const revoked = await changes.changedSince(mark);
  assert.deepEqual([idsOf(revoked.keys), revoked.accounts], [["a"], []]);
  assert.ok(revoked.now >= mark);
  await touch(database, account.id);
  const moved = await changes.changedSince(mark);
  assert.deepEqual([idsOf(moved.keys), idsOf(moved.accounts)], [["a"], [account.id]]);
});

eachDatabase("of what is held, what differs and has changed is given", async (database) => {
  const { keys, account, other } = await setUp(database);
  const changes = createKeyChanges(database);
  for (const id of ["a", "b", "c"]) await keys.insert(newKey(account.id, id));
  const { now: mark } = await later(database);
  for (const id of ["a", "b"]) await keys.revoke(id);
  await touch(database, other.id);
  const held = <Id>(ids: Id[]) => ids.map((id) => ({ id, changedAt: null }));
  const changed = await changes.changedKeys(held(["b", "c", "unknown"]), mark);
  assert.deepEqual(changed.map(({ principal }) => principal), [await keys.findById("b")]);
  const seen = [{ id: "b", changedAt: changed[0]!.changedAt.getTime() }, ...held(["a"])];
  const unseen = await changes.changedKeys(seen, mark);
  assert.deepEqual(unseen.map(({ principal }) => principal.key.id), ["a"]);
  const accounts = await changes.changedAccounts(held([account.id, other.id]), mark);
  assert.deepEqual(accounts.map((one) => one.account), [other]);
  const { changedAt } = accounts[0]!;
  const known = [{ id: other.id, changedAt: changedAt.getTime() }];
  assert.deepEqual(await changes.changedAccounts(known, mark), []);
});

eachDatabase("a look reads a bounded number of rows, whatever has changed", async (database) => {
  const { account } = await setUp(database);
  const rows: number[] = [];
  const changes = createKeyChanges(observed(database, (some) => void rows.push(some.length)));
  // The account itself is past by then.
  await later(database);
  const { now } = await changes.changedSince(null);
  await database.query(
    `insert into api_keys (id, account_id, name, prefix, hash, scopes, models, on_disconnect,
       translation_mode)
     select 'key ' || n, $1, 'key', 'dmt_', 'hash ' || n, '{}', '{}', 'cancel', 'default'
     from generate_series(1, 20000) n`,
    [account.id],
  );
  assert.equal((await changes.changedSince(now)).keys, "many");
  const { now: imported } = await later(database);
  await touch(database, account.id);
  const moved = await changes.changedSince(imported);
  assert.deepEqual([moved.keys, idsOf(moved.accounts)], [[], [account.id]]);
  await changes.changedKeys([{ id: "key 7", changedAt: null }], now);
  assert.deepEqual(rows, [1, maxListedChanges + 1, 1, 1]);
});

onPostgres("another connection sees a revocation at once", async (database, open) => {
  const { keys, account } = await setUp(database);
  await keys.insert(newKey(account.id, "a"));
  const elsewhere = createKeyChanges(await open());
  const { now } = await elsewhere.changedSince(null);
  await keys.revoke("a");
  assert.deepEqual(idsOf((await elsewhere.changedSince(now)).keys), ["a"]);
});

async function touch(database: Database, accountId: number): Promise<void> {
  await database.query("update accounts set changed_at = clock_timestamp() where id = $1", [
    accountId,
  ]);
}

function idsOf<Id>(changes: ChangeList<Id>): Id[] {
  if (changes === "many") throw new Error("the changes are not listed");
  return changes.map(({ id }) => id);
}

/** Dates have milliseconds, the database's times microseconds: what is past is past by then. */
async function later(database: Database) {
  await database.query("select pg_sleep(0.002)", []);
  return await createKeyChanges(database).changedSince(null);
}

function duplicate(thrown: unknown): boolean {
  return (thrown as { code?: string }).code === "23505";
}
