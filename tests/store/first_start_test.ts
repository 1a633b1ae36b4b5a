import assert from "@std/assert";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import type { Database } from "../../src/database/database.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { ensureFirstAccount } from "../../src/people/store/first_start.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";

function ensure(database: Database, id: string) {
  return ensureFirstAccount(database, {
    account: { name: "operator", tier: "enterprise", requestsPerMinute: 10, burst: 10 },
    key: {
      id,
      name: "first",
      prefix: "dmt_abcd",
      hash: `hash of ${id}`,
      scopes: [],
      models: [],
      onDisconnect: "cancel",
      translationMode: "default",
      capDayNanos: null,
      capMonthNanos: null,
      expiresAt: null,
    },
    creditNanos: 7n,
  });
}

eachDatabase(
  "the first start makes the account and its key, a later one finds them",
  async (database) => {
    const first = await ensure(database, "one");
    assert.equal(first.created, true);
    assert.deepEqual(
      (await createApiKeys(database).findByHash("hash of one"))?.account,
      first.account,
    );
    const later = await ensure(database, "two");
    assert.deepEqual(later, { account: first.account, created: false });
    assert.equal((await createApiKeys(database).page(null, { after: null, limit: 10 })).length, 1);
    const credit = await createLedger(database).show(first.account.id);
    assert.equal(credit.balanceNanos, 7n);
  },
);

eachDatabase(
  "a key that can't be stored leaves no account without key behind",
  async (database) => {
    // No text of PostgreSQL's holds this character.
    await assert.rejects(ensure(database, "\u0000"));
    assert.deepEqual(await createAccounts(database).page({ after: null, limit: 10 }), []);
    assert.equal((await ensure(database, "one")).created, true);
  },
);

onPostgres("of starts at the same moment exactly one makes the account", async (database, open) => {
  const others = await Promise.all([open(), open(), open()]);
  const results = await Promise.all(
    [database, ...others].map((each, at) => ensure(each, `key ${at}`)),
  );
  assert.equal(results.filter(({ created }) => created).length, 1);
  assert.equal(new Set(results.map(({ account }) => account.id)).size, 1);
  assert.equal((await createAccounts(database).page({ after: null, limit: 10 })).length, 1);
  assert.equal((await createApiKeys(database).page(null, { after: null, limit: 10 })).length, 1);
});
