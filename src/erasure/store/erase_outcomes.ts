import type { Database, Queryable } from "../../database/database.ts";
import { countChanged, eraseUnlocked } from "../../database/retention_lock.ts";
import type { AnalyticsTransaction, CallKey } from "../../records/analytics_store.ts";
import type { ErasureScope, Tombstone } from "../tombstone.ts";
import { Bound, condition } from "./erasure_sql.ts";

/** Items of outcomes that are changed in one transaction. */
const stepRows = 2000;

/**
 * Erases outcomes that name a call or session of the deletion, one of `calls`, which are erased
 * next, or a session that has no other calls. Outcomes posted after the deletion was requested
 * stay. Must run before the calls are erased, since their rows tell which sessions end. It has its
 * own transactions, for which no writer waits; `onErased` runs in each.
 */
export async function eraseOutcomes(
  { main, analytics }: { main: Database; analytics: AnalyticsTransaction },
  { scope, calls }: { scope: ErasureScope; calls: readonly CallKey[] },
  onErased: (tx: Queryable) => Promise<void>,
): Promise<void> {
  const { accountId, before, tables } = scope.tombstone;
  if (!tables.includes("interactions")) return;
  const sessions = await analytics.sessionsEndingWith(accountId, calls, before);
  const bound = new Bound();
  const ofTheCalls = `account_id = ${bound.bind(accountId)} and created_at <= ${bound.bind(before)}
    and (transaction_id = any(${
    bound.bind(calls.map(({ transactionId }) => transactionId))
  }::text[])
      or session_id = any(${bound.bind(sessions)}::text[]))`;
  const { transactionIds, sessionHashes } = scope.tombstone;
  const isNamed = transactionIds !== null || sessionHashes !== null;
  const inScope = isNamed ? condition(scope, "cohort_outcomes", "o", bound) : "false";
  const statement = `delete from cohort_outcomes where id = any(array(
    select id from cohort_outcomes o where (${ofTheCalls}) or (${inScope}) limit ${stepRows}))`;
  for (let erased = stepRows; erased === stepRows;) {
    erased = await main.transaction(async (tx) => {
      const count = await countChanged(tx, statement, bound.values);
      if (count > 0) await onErased(tx);
      return count;
    });
  }
}

/**
 * Returns the time of the account's latest outcome that names a call or a session, if it is after
 * the deletion's and not after `until`.
 */
export async function latestOutcome(
  main: Queryable,
  { accountId, before, tables }: Tombstone,
  until: Date,
): Promise<Date | undefined> {
  if (!tables.includes("interactions")) return undefined;
  // Rounded up, since a date has no microseconds.
  const [row] = await main.query(
    `select date_trunc('milliseconds', max(created_at) + interval '999 microseconds') as at
     from cohort_outcomes where account_id = $1 and created_at > $2 and created_at <= $3
       and (session_id is not null or transaction_id is not null)`,
    [accountId, before, until],
  );
  return (row!.at as Date | null) ?? undefined;
}

/** Whether outcomes of the account name calls or sessions. */
export async function hasLinkedOutcomes(main: Queryable, accountId: number): Promise<boolean> {
  const any = (column: string) =>
    `exists (select from cohort_outcomes where account_id = $1 and ${column} is not null)`;
  const [row] = await main.query(
    `select ${any("session_id")} or ${any("transaction_id")} as linked`,
    [accountId],
  );
  return row!.linked === true;
}

/**
 * Removes the ids of calls and sessions from outcomes posted before `limit`. Must run under
 * `unlessBusy`.
 */
export async function unlinkOutcomes(main: Database, limit: Date): Promise<void> {
  const statement = `update cohort_outcomes set transaction_id = null, session_id = null
    where id = any(array(
      select id from cohort_outcomes where created_at < $1
        and (session_id is not null or transaction_id is not null) limit $2
      for update skip locked))`;
  for (let changed = stepRows; changed === stepRows;) {
    const values = [limit, stepRows];
    changed = await eraseUnlocked(main, (tx) => countChanged(tx, statement, values)) ?? 0;
  }
}
