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
  // Nearly all keys of one account have ended, half of them were revoked; five have caps.
  `insert into api_keys (id, account_id, name, prefix, hash, scopes, models, on_disconnect,
     translation_mode, expires_at, revoked_at, cap_day_nanos)
   select 'old ' || n, $1 + 1, 'old ' || n, 'p', 'old ' || n, '{}', '{}', 'cancel', 'default',
     case when n > 5 and n % 2 = 0 then now() - interval '1 day' end,
     case when n > 5 and n % 2 = 1 then now() end, case when n <= 5 then 1 end
   from generate_series(1, ${keys}) as n`,
  `insert into people (id, issuer, subject, name, created_at, signed_in_at)
   select 'p ' || n, 'i', n, n, now(), now() from generate_series(1, 50) as n`,
  `insert into api_key_notes (api_key_id, environment, made_by)
   select 'old ' || n, '', 'p ' || n from generate_series(1, 50) as n`,
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

/** Of the account whose keys have nearly all ended. */
function readsOfFew(database: Database, accountId: number) {
  const analytics = { lastUses: () => Promise.resolve(new Map()) };
  const service = createKeyService(database, { analytics, carrySpend: () => Promise.resolve() });
  return {
    "with caps": () => service.list(accountId, { isCapped: true, limit: 51 }),
    "of people": () => service.madeBy(accountId, ["p 3", "p 4", "p 50"]),
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
  for (const [name, read] of Object.entries(readsOfFew(counted.database, accountId + 1))) {
    counted.rows = 0;
    assert.ok((await read()).length > 1, name);
    // A plan may look through the 50 notes and people for each key.
    if (counted.rows > 1_000) found.push(`${name}: ${counted.rows} rows`);
  }
  assert.deepEqual(found, []);
}, { fresh: true });
