import { pushAll } from "../../base/lists.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import type { SettledCall } from "../../shared/interaction.ts";
import { periodStart } from "../budget.ts";
import { lockPeriods, readPeriod } from "./budget_leases.ts";

/**
 * A call whose charge is posted; `fromLeaseNanos` is what its process took from its leases for it.
 * A call that `wasFree` until it was corrected counts in the budgets that were there when it was
 * made: the first sum of a later one has the calls before it as they were then.
 */
export type BudgetedCall =
  & Pick<
    SettledCall,
    "transactionId" | "accountId" | "app" | "userId" | "createdAt" | "chargedNanos"
  >
  & { leaseIds: readonly string[]; fromLeaseNanos: bigint; wasFree?: true };

/** The new charge of a call that was posted before and has not been refunded. */
interface CorrectedCharge {
  readonly transactionId: string;
  readonly chargedNanos: bigint;
}

/**
 * Adds what calls were charged to the budgets that cover them, each call once, and takes it out of
 * the leases that held it; then corrects charges. Part of the transaction that writes the calls,
 * and run once in it, so that it locks all its periods in the common order.
 */
export async function postBudgetCharges(
  tx: Queryable,
  calls: readonly BudgetedCall[],
  corrected: readonly CorrectedCharge[] = [],
): Promise<void> {
  const posted = await budgetedRows(tx, calls);
  const corrections = corrected.map(({ transactionId, chargedNanos }) => ({
    transaction_id: transactionId,
    charged_nanos: String(chargedNanos),
  }));
  const periods: SqlRow[] = [];
  const steps = [
    { rows: posted, findPeriods: createPeriods, write: postCharges },
    { rows: corrections, findPeriods: periodsOfCharges, write: correctCharges },
  ].filter(({ rows }) => rows.length > 0).map((step) => ({
    ...step,
    sent: JSON.stringify(step.rows),
  }));
  for (const { findPeriods, sent } of steps) pushAll(periods, await tx.query(findPeriods, [sent]));
  if (periods.length === 0) return;
  await lockPeriods(tx, periods.map(readPeriod));
  for (const { write, sent } of steps) await tx.query(write, [sent]);
}

/** Corrects charges alone. */
export async function correctBudgetCharges(
  tx: Queryable,
  corrected: readonly CorrectedCharge[],
): Promise<void> {
  await postBudgetCharges(tx, [], corrected);
}

async function budgetedRows(tx: Queryable, calls: readonly BudgetedCall[]) {
  const charged = calls.filter(({ chargedNanos, fromLeaseNanos }) =>
    chargedNanos !== 0n || fromLeaseNanos !== 0n
  );
  const budgeted = await accountsWithBudgets(tx, new Set(charged.map((call) => call.accountId)));
  return charged.filter(({ accountId }) => budgeted.has(accountId)).map((call) => ({
    transaction_id: call.transactionId,
    account_id: call.accountId,
    app: sanitizeText(call.app),
    user_id: sanitizeText(call.userId),
    day: periodStart("day", call.createdAt).toISOString(),
    month: periodStart("month", call.createdAt).toISOString(),
    set_until: call.wasFree ? call.createdAt.toISOString() : null,
    charged_nanos: String(call.chargedNanos),
    drawn_nanos: String(call.fromLeaseNanos),
    leases: call.leaseIds.join(" "),
  }));
}

/**
 * Finds the accounts with budgets: most calls are of accounts without any, and need only this
 * query.
 */
async function accountsWithBudgets(
  tx: Queryable,
  accountIds: ReadonlySet<number>,
): Promise<ReadonlySet<number>> {
  if (accountIds.size === 0) return accountIds;
  const rows = await tx.query(
    `select distinct account_id from budgets
     where account_id = any($1::bigint[]) and removed_at is null`,
    [[...accountIds]],
  );
  return new Set(rows.map(({ account_id }) => Number(account_id)));
}

const callsSql = `select distinct on (transaction_id) * from json_to_recordset($1::text::json)
    as r(transaction_id text, account_id bigint, app text, user_id text, day timestamptz,
      month timestamptz, set_until timestamptz, charged_nanos bigint, drawn_nanos bigint,
      leases text)
  order by transaction_id`;

/** $1 JSON array of calls; a row for each call and budget that covers it. */
const covered = `with calls as (${callsSql}), covered as (
    select c.*, b.id as budget_id, case b.per when 'day' then c.day else c.month end as starts_at
    from calls c join budgets b on b.account_id = c.account_id and b.removed_at is null
      and (c.set_until is null or b.created_at <= c.set_until)
      and (b.scope = 'account' or b.scope = 'app' and b.name = c.app
        or b.scope = 'user' and b.name = c.user_id)
  )`;

/** Creates and returns the periods that the calls belong to. */
const createPeriods = `${covered}, added as (
    insert into budget_periods (budget_id, starts_at)
    select distinct budget_id, starts_at from covered order by budget_id, starts_at
    on conflict do nothing
  )
  select distinct budget_id, starts_at from covered`;

/** Charges that share a lease draw on it one after the other. The periods are locked. */
const postCharges = `${covered}, fresh as (
    insert into budget_charges (transaction_id, budget_id, starts_at, charged_nanos)
    select c.transaction_id, c.budget_id, c.starts_at, c.charged_nanos
    from covered c join budget_periods p using (budget_id, starts_at)
    on conflict do nothing
    returning transaction_id, budget_id, starts_at, charged_nanos
  ), drawn as (
    select l.id, f.budget_id, f.starts_at, greatest(0, least(c.drawn_nanos, l.amount_nanos
      - coalesce(sum(c.drawn_nanos) over (partition by l.id order by f.transaction_id
        rows between unbounded preceding and 1 preceding), 0)))::bigint as nanos
    from fresh f join calls c using (transaction_id)
    join budget_leases l on l.budget_id = f.budget_id and l.starts_at = f.starts_at
      and l.id = any(string_to_array(c.leases, ' '))
  ), leases as (
    update budget_leases l set amount_nanos = l.amount_nanos - d.nanos
    from (select id, sum(nanos)::bigint as nanos from drawn group by id) d where l.id = d.id
  )
  update budget_periods p set spent_nanos = p.spent_nanos + s.charged,
    leased_nanos = p.leased_nanos - coalesce(d.nanos, 0)
  from (
    select budget_id, starts_at, sum(charged_nanos)::bigint as charged from fresh
    group by budget_id, starts_at
  ) s left join (
    select budget_id, starts_at, sum(nanos)::bigint as nanos from drawn
    group by budget_id, starts_at
  ) d using (budget_id, starts_at)
  where p.budget_id = s.budget_id and p.starts_at = s.starts_at`;

/** $1 JSON array of corrected charges; returns their periods. */
const periodsOfCharges = `select distinct c.budget_id, c.starts_at from budget_charges c
  join json_to_recordset($1::text::json) as r(transaction_id text) using (transaction_id)`;

/** The charges' periods are locked. */
const correctCharges = `with corrected as (
    select c.transaction_id, c.budget_id, c.starts_at, r.charged_nanos,
      r.charged_nanos - c.charged_nanos as more
    from budget_charges c
    join json_to_recordset($1::text::json) as r(transaction_id text, charged_nanos bigint)
      using (transaction_id)
  ), charges as (
    update budget_charges c set charged_nanos = k.charged_nanos from corrected k
    where c.transaction_id = k.transaction_id and c.budget_id = k.budget_id
  )
  update budget_periods p set spent_nanos = p.spent_nanos + s.more
  from (
    select budget_id, starts_at, sum(more)::bigint as more from corrected
    group by budget_id, starts_at
  ) s where p.budget_id = s.budget_id and p.starts_at = s.starts_at`;
