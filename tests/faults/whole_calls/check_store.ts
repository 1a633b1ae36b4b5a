import { createLedger } from "../../../src/credit/store/ledger.ts";
import type { Database } from "../../../src/database/database.ts";
import { usageColumns, usageFromRows } from "../../support/recount_usage.ts";
import { type CallRow, show } from "./call_rows.ts";
import type { Deeds } from "./exchange.ts";
import { maxCapNanos, maxLimitNanos } from "./money_operations.ts";

/** Records, ledger and sums agree. */
export async function checkMoney(
  database: Database,
  analytics: Database,
  rows: readonly CallRow[],
  deeds: Deeds,
): Promise<string[]> {
  const problems: string[] = [];
  const add = (text: string) => void problems.push(text);
  for (const gap of await createLedger(database).check()) add(`ledger gap ${show(gap)}`);
  const entries = await database.query(
    `select interaction_id as id, -sum(amount_nanos) as charged from ledger_entries
     where kind in ('settle', 'adjust') and interaction_id is not null group by 1`,
  );
  const posted = new Map(entries.map((row) => [String(row.id), BigInt(String(row.charged))]));
  for (const { id, chargedNanos, status } of rows) {
    const charged = posted.get(id) ?? 0n;
    if (charged !== chargedNanos) add(`${id} (${status}): row ${chargedNanos}, ledger ${charged}`);
  }
  const ids = new Set(rows.map(({ id }) => id));
  const erased = new Set(
    (await analytics.query("select transaction_id as id from erased_calls")).map((row) =>
      String(row.id)
    ),
  );
  for (const id of posted.keys()) {
    if (!ids.has(id) && !erased.has(id)) add(`a charge without a call: ${id}`);
  }
  const sums = await analytics.query(
    `with counted as (${usageFromRows}), stored as
       (select ${usageColumns} from usage_sums where not erased and calls <> 0)
     (select 'row' as place, * from counted except select 'row', * from stored)
     union all (select 'sum', * from stored except select 'sum', * from counted)`,
  );
  for (const each of sums.slice(0, 3)) add(`usage ${show({ ...each, latencies: 0 })}`);
  const [usage] = await analytics.query(
    "select coalesce(sum(charged_nanos), 0) as sum from usage_sums where span = 'day' and part = 'all'",
  );
  const [ledger] = await database.query(
    `select coalesce(-sum(amount_nanos), 0) as sum from ledger_entries where kind = 'settle'
       or (kind = 'adjust' and interaction_id is not null)`,
  );
  if (String(usage!.sum) !== String(ledger!.sum)) add(`totals ${show({ usage, ledger })}`);
  return [...problems, ...await checkLimits(database, rows, deeds)];
}

async function checkLimits(
  database: Database,
  rows: readonly CallRow[],
  deeds: Deeds,
): Promise<string[]> {
  const problems: string[] = [];
  const different = async (what: string, text: string) => {
    for (const row of (await database.query(text)).slice(0, 3)) {
      problems.push(`${what} ${show(row)}`);
    }
  };
  await different(
    "key_spend",
    `select * from (select api_key_id, date_trunc('day', created_at, 'UTC') as day,
       sum(charged_nanos) as charged from key_charges group by 1, 2) c
     full join key_spend s using (api_key_id, day)
     where coalesce(c.charged, 0) <> coalesce(s.charged_nanos, 0)`,
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  const keyCharges = new Map((await database.query("select * from key_charges")).map((row) => [
    String(row.transaction_id),
    row.charged_nanos as bigint,
  ]));
  for (const [id, nanos] of keyCharges) {
    const row = byId.get(id);
    if (row && row.chargedNanos !== nanos) problems.push(`key_charges ${nanos} ${show(row)}`);
  }
  const keys = await database.query("select id from api_keys where name = 'capped'");
  const capped = new Set(keys.map(({ id }) => String(id)));
  for (const row of rows) {
    if (!capped.has(row.keyId) || row.chargedNanos === 0n || keyCharges.has(row.id)) continue;
    problems.push(`not in key_charges ${show(row)}`);
  }
  const budgetCharges = await database.query(
    `select c.*, b.created_at, b.scope, b.name from budget_charges c join budgets b on b.id = c.budget_id`,
  );
  for (
    const { transaction_id: id, charged_nanos: nanos, created_at: at, ...more } of budgetCharges
  ) {
    const row = byId.get(String(id));
    if (!row || row.chargedNanos === nanos || row.createdMs <= (at as Date).getTime()) continue;
    problems.push(`budget_charges ${nanos} ${show(more)} ${show(row)}`);
  }
  // This budget is older than all calls.
  const shop = new Set(
    budgetCharges.filter(({ name }) => name === "shop").map(({ transaction_id: id }) => String(id)),
  );
  for (const row of rows) {
    if (row.accountId !== 1 || row.app !== "shop" || row.chargedNanos === 0n) continue;
    if (!shop.has(row.id)) problems.push(`not in budget_charges ${show(row)}`);
  }
  await different(
    "budget_periods",
    `select p.spent_nanos, c.charged from budgets b
     join budget_periods p on p.budget_id = b.id
     left join lateral (select coalesce(sum(charged_nanos), 0) as charged from budget_charges c
       where c.budget_id = p.budget_id and c.starts_at = p.starts_at) c on true
     where b.name = 'shop' and p.spent_nanos <> c.charged`,
  );
  return [...problems, ...await checkBounds(database, deeds)];
}

/** No lease is left, and no limit was exceeded; a repricing may exceed any. */
async function checkBounds(database: Database, { repriced, money }: Deeds): Promise<string[]> {
  const problems: string[] = [];
  const none = async (what: string, text: string) => {
    for (const row of (await database.query(text)).slice(0, 3)) {
      problems.push(`${what} ${show(row)}`);
    }
  };
  await none("leased of a budget", "select * from budget_periods where leased_nanos <> 0");
  await none("leased of a balance", "select * from account_balances where leased_nanos <> 0");
  for (const table of ["leases", "key_leases", "budget_leases"]) {
    await none(table, `select * from ${table} where amount_nanos <> 0`);
  }
  if (repriced) return problems;
  await none(
    "cap exceeded",
    `select k.name, s.* from key_spend s join api_keys k on k.id = s.api_key_id
     where k.name = 'capped' and s.charged_nanos > ${maxCapNanos}`,
  );
  // By the highest limit that it had. The other users' are made when much may be spent already.
  await none(
    "budget exceeded",
    `select b.scope, b.name, b.limit_nanos, p.* from budgets b
     join budget_periods p on p.budget_id = b.id
     where (b.name = 'shop' and p.spent_nanos > 60000000000)
       or (b.name = 'user-1' and p.spent_nanos > ${maxLimitNanos})`,
  );
  for (const row of await database.query("select * from account_balances")) {
    const deducted = money.credits.filter(({ accountId, nanos }) =>
      accountId === Number(row.account_id) && nanos < 0n
    ).reduce((sum, { nanos }) => sum + nanos, 0n);
    if ((row.balance_nanos as bigint) < deducted) problems.push(`overdrawn ${show(row)}`);
  }
  return problems;
}

/** Nothing is unfinished, and nothing is left of what was erased. */
export async function checkLeftovers(database: Database, analytics: Database): Promise<string[]> {
  const problems: string[] = [];
  const none = async (what: string, text: string, of = database) => {
    for (const row of (await of.query(text)).slice(0, 3)) problems.push(`${what} ${show(row)}`);
  };
  await none(
    "claim",
    "select key, claim_id, holder, until from replays where status is null and until > clock_timestamp() + interval '1 minute'",
  );
  await none(
    "background call",
    "select response_id, state, attempts, claimed_by from background_calls where request is not null",
  );
  await none(
    "background state",
    "select response_id, state from background_calls where state in ('queued', 'in_progress')",
  );
  await none("deletion", "select deletion_id, state from deletions where state not in ('done')");
  await none(
    "export",
    "select request_id, state from export_jobs where state in ('queued', 'running')",
  );
  await none(
    "result of an erased call",
    "select eval_run_id, transaction_id from eval_results r where exists (select from erased_calls e where e.transaction_id = r.transaction_id)",
  );
  await none(
    "eval run",
    "select eval_run_id, state from eval_runs where state in ('queued', 'running') and next_at is null",
  );
  await none(
    "chunk without an export",
    "select distinct request_id from export_chunks c where not exists (select from export_jobs j where j.request_id = c.request_id and j.state = 'ready')",
  );
  await none(
    "payload without a row",
    "select transaction_id from interaction_payloads p where not exists (select from interactions i where i.transaction_id = p.transaction_id)",
    analytics,
  );
  await none(
    "stored response of an erased call",
    "select response_id, transaction_id from kept_responses k where exists (select from erased_calls e where e.transaction_id = k.transaction_id)",
  );
  await none(
    "replay of an erased call",
    "select key, transaction_id from replays k where exists (select from erased_calls e where e.transaction_id = k.transaction_id)",
  );
  await none(
    "cached answer of an erased call",
    "select transaction_id from cached_answers k where exists (select from erased_calls e where e.transaction_id = k.transaction_id)",
  );
  return problems;
}
