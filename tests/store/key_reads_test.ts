/** A page of keys or accounts, and a key's name, read no more rows than they show. */
import assert from "@std/assert";
import type { Database } from "../../src/database/database.ts";
import { refreshStatistics } from "../../src/database/table_statistics.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import { createKeyService } from "../../src/keys/store/key_service.ts";
import { CountedReads } from "../support/counted_reads.ts";
import { eachDatabase } from "../support/databases.ts";
import { newAccount } from "./samples.ts";

/** Of one account, and as many of others. */
const keys = 20_000;

const fills = [
  `insert into accounts (name, tier, requests_per_minute, burst)
   select 'other ' || n, 'free', 1, 1 from generate_series(1, ${keys}) as n`,
  `insert into api_keys (id, account_id, name, prefix, hash, scopes, models, on_disconnect,
     translation_mode)
   select 'key ' || n, $1, 'key ' || n % 7, 'p', 'hash ' || n, '{}', '{}', 'cancel', 'default'
   from generate_series(1, ${keys}) as n`,
  `insert into api_keys (id, account_id, name, prefix, hash, scopes, models, on_disconnect,
     translation_mode)
   select 'other ' || id, id, 'other ' || id, 'p', 'other ' || id, '{}', '{}', 'cancel', 'default'
   from accounts where id <> $1`,
];

function readsOn(database: Database, accountId: number) {
  const apiKeys = createApiKeys(database);
  const accounts = createAccounts(database);
  const analytics = { lastUses: () => Promise.resolve(new Map()) };
  const service = createKeyService(database, { analytics, carrySpend: () => Promise.resolve() });
  const id = "key 4711";
  return {
    "of all accounts": () => apiKeys.page(null, { after: id, limit: 50 }),
    "of an account": () => apiKeys.page(accountId, { after: id, limit: 50 }),
    "of an account with one": () => apiKeys.page(accountId + 77, { after: null, limit: 50 }),
    "by name": () => apiKeys.named("key 3", 21),
    "by a rare name": () => apiKeys.named(`other ${accountId + 77}`, 21),
    "by a name that none has": () => apiKeys.named("nothing", 21),
    "on the dashboard": () => service.list(accountId, { limit: 51 }),
    "on the dashboard, a page in the middle": () =>
      service.list(accountId, { after: { id }, limit: 51 }),
    "in a form": () => service.offered(accountId, { isInUse: true, limit: 51 }),
    "accounts": () => accounts.page({ after: BigInt(accountId + 9_000), limit: 51 }),
  };
}

eachDatabase(`lists of ${keys} keys read what they show`, async (database) => {
  const accountId = await newAccount(database);
  for (const fill of fills) await database.query(fill, fill.includes("$1") ? [accountId] : []);
  if (database.kind === "embedded") await refreshStatistics(database);
  else await database.query("analyze");
  const counted = new CountedReads(database);
  const found: string[] = [];
  for (const [name, read] of Object.entries(readsOn(counted.database, accountId))) {
    counted.rows = counted.statements = 0;
    const { length } = await read();
    assert.ok(counted.statements > 0, `${name}: nothing was counted`);
    // On the dashboard also the notes and makers of each, and which keys replace it.
    if (counted.rows > 4 * length + 1) found.push(`${name}: ${counted.rows} rows for ${length}`);
  }
  assert.deepEqual(found, []);
}, { fresh: true });
