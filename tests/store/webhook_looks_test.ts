/** What a look for events reads, which comes every two seconds in each process. */
import assert from "@std/assert";
import type { Database } from "../../src/database/database.ts";
import { refreshStatistics } from "../../src/database/table_statistics.ts";
import { createSealer } from "../../src/keys/store/master_key_claim.ts";
import { createWebhookStore } from "../../src/webhooks/store/webhooks.ts";
import { CountedReads } from "../support/counted_reads.ts";
import { eachDatabase } from "../support/databases.ts";

const noon = new Date("2026-11-21T12:00:00Z");
const sealer = createSealer(() => Promise.reject(new Error("a look unseals nothing")));
const storeOn = (database: Database) => createWebhookStore(database, { sealer, workerId: "one/1" });

/** So many accounts, each with two webhooks, a grant and a budget, which nobody has used. */
async function fillAccounts(database: Database, count: number): Promise<void> {
  const statements = [
    `insert into accounts (name, tier, requests_per_minute, burst)
     select 'account ' || n, 'free', 1, 1 from generate_series(1, ${count}) as n`,
    `insert into account_balances (account_id, balance_nanos, leased_nanos)
     select id, 100, 0 from accounts`,
    `insert into ledger_entries (account_id, kind, amount_nanos, leased_nanos)
     select id, 'grant', 100, 0 from accounts`,
    `insert into webhooks (id, account_id, url, events, sealed, key_version)
     select w.kind || ' of ' || a.id, a.id, '', w.events, '', 1 from accounts a
     cross join (values ('all', '{}'::text[]), ('credit', '{credit.low}')) as w(kind, events)`,
    `insert into budgets (id, account_id, scope, name, per, limit_nanos)
     select 'budget ' || id, id, 'account', '', 'day', 100 from accounts`,
  ];
  for (const statement of statements) await database.query(statement, []);
  if (database.kind === "embedded") await refreshStatistics(database);
  else await database.query("analyze", []);
}

eachDatabase("a look for events doesn't read all webhooks", async (database) => {
  await fillAccounts(database, 10_000);
  const counted = new CountedReads(database);
  await storeOn(counted.database).note(noon, []);
  // Two thousand budgets, each also for the end of the portion; the same of webhooks, each with its
  // account's balance and last grant.
  assert.ok(counted.rows > 2_000 && counted.rows <= 12_100, `${counted.rows} rows`);
}, { fresh: true });

eachDatabase("looks for events check each webhook in turn", async (database) => {
  await fillAccounts(database, 2_500);
  await database.query(
    "update account_balances set balance_nanos = 5 where account_id % 250 = 0",
    [],
  );
  const store = storeOn(database);
  const found: number[] = [];
  for (let look = 0; look < 4; look++) {
    await store.note(noon, []);
    const [row] = await database.query("select count(*)::int as n from webhook_deliveries", []);
    found.push(Number(row!.n));
  }
  // Five thousand are three portions, then it begins again.
  assert.deepEqual(found.slice(2), [20, 20]);
  assert.ok(found[0]! < found[1]! && found[1]! < 20, `${found}`);
}, { fresh: true });

eachDatabase("a reached budget is claimed for webhooks that subscribe to it", async (database) => {
  await fillAccounts(database, 2);
  await database.query(
    "insert into budget_periods (budget_id, starts_at, spent_nanos) select id, $1, 96 from budgets",
    [new Date("2026-11-21")],
  );
  const accounts = await database.query("select id from accounts order by id", []);
  const [first, second] = accounts.map(({ id }) => id as bigint);
  await database.query("delete from webhooks where account_id = $1 and events = '{}'", [first!]);
  await storeOn(database).note(noon, []);
  const events = await database.query(
    "select webhook_id, type from webhook_deliveries order by seq",
    [],
  );
  const event = { webhook_id: `all of ${second}`, type: "budget.reached" };
  assert.deepEqual(events, [event, event]);
  const periods = await database.query(
    "select budget_id, notified_percent as percent from budget_periods order by budget_id",
    [],
  );
  assert.deepEqual(
    periods.map(({ budget_id, percent }) => [budget_id, Number(percent)]),
    [[`budget ${first}`, 0], [`budget ${second}`, 95]],
  );
}, { fresh: true });
