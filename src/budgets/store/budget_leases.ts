import type { LeaseRequest, LeaseReturn, LeaseTaken } from "../../credit/ledger.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import {
  createLeaseKeeper,
  type LeaseTable,
  type LockWait,
  readTaken,
} from "../../database/lease_table.ts";
import type { BudgetPeriod, BudgetStore } from "../budget.ts";

type LeaseOperations = Pick<
  BudgetStore,
  "take" | "release" | "renew" | "available" | "sweepExpired" | "takeBack"
>;

/** Leases of budgets' periods. Whoever changes a period's sums locks its row first. */
export function createBudgetLeases(database: Database): LeaseOperations {
  return {
    take: (request, limit) => database.transaction((tx) => takeBudgetLease(tx, request, limit)),
    release: (back, now) => database.transaction((tx) => releaseBudgetLease(tx, back, now)),
    ...createLeaseKeeper(database, budgetLeases),
    available: (periods, now) => readAvailable(database, periods, now),
  };
}

async function takeBudgetLease(
  tx: Queryable,
  request: LeaseRequest<BudgetPeriod>,
  { atMost, now }: { atMost: bigint; now: Date },
): Promise<LeaseTaken> {
  const { budgetId, startsAt } = request.accountId;
  // A removed budget gets no new period, since a sweep may be deleting it: its calls go on as if
  // there were no budget.
  await tx.query(
    `insert into budget_periods (budget_id, starts_at) select id, $2 from budgets
   where id = $1 and removed_at is null on conflict do nothing`,
    [budgetId, startsAt],
  );
  // A separate statement, so that the next one sees what an earlier run of the same operation did.
  await lockPeriods(tx, [request.accountId]);
  const [row] = await tx.query(takeSql, [
    ...[request.operationId, budgetId, startsAt, request.atLeastNanos, request.wantedNanos],
    ...[request.aheadNanos, request.leaseId, request.processId, request.leaseSeconds],
    ...[atMost, now],
  ]);
  if (row?.is_there !== true) {
    return { grantedNanos: request.aheadNanos, availableNanos: unlimited, isNew: true };
  }
  return readTaken(row);
}

async function releaseBudgetLease(
  tx: Queryable,
  back: LeaseReturn<BudgetPeriod>,
  now: Date,
): Promise<bigint> {
  const { budgetId, startsAt } = back.accountId;
  await lockPeriods(tx, [back.accountId]);
  await tx.query(
    `with lease as (
     select id, least(amount_nanos, $2::bigint) as nanos from budget_leases
     where id = $1 and operation_id <> $3
   ), given as (
     update budget_leases l set amount_nanos = l.amount_nanos - lease.nanos,
       operation_id = $3, granted_nanos = 0
     from lease where l.id = lease.id
   )
   update budget_periods set leased_nanos = leased_nanos - lease.nanos
   from lease where budget_id = $4 and starts_at = $5`,
    [back.leaseId, back.amountNanos, back.operationId, budgetId, startsAt],
  );
  return (await readAvailable(tx, [back.accountId], now))[0]!;
}

/** More than any call costs, and far from the end of a bigint. */
const unlimited = 1n << 60n;

/** The limit of budget `b` at a time; a budget that was removed limits nothing. */
function limitSql(now: string): string {
  return `case when b.removed_at is not null then ${unlimited}
    when b.raised_until > ${now}::timestamptz then b.raised_nanos else b.limit_nanos end`;
}

/**
 * $1 operation, $2 budget, $3 period, $4 at least, $5 wanted, $6 ahead, $7 lease, $8 process,
 * $9 seconds, $10 the limit as the process has it, $11 now. The period's row is locked.
 */
const takeSql = `with done as (
    select granted_nanos as granted from budget_leases where id = $7 and operation_id = $1
  ), room as (
    select p.budget_id, p.starts_at,
      (case when b.removed_at is not null then ${unlimited}
        else least($10::bigint, ${limitSql("$11")}) end) - p.spent_nanos - p.leased_nanos
        as available
    from budget_periods p join budgets b on b.id = p.budget_id
    where p.budget_id = $2 and p.starts_at = $3
  ), taken as (
    select budget_id, starts_at,
      least(available, greatest($5::bigint, least($6::bigint, available / 4))) as granted
    from room
    where available > 0 and available >= $4::bigint and not exists (select from done)
  ), period as (
    update budget_periods p set leased_nanos = p.leased_nanos + taken.granted
    from taken where p.budget_id = taken.budget_id and p.starts_at = taken.starts_at
  ), lease as (
    insert into budget_leases as l (id, budget_id, starts_at, process_id, amount_nanos,
      operation_id, granted_nanos, expires_at)
    select $7, budget_id, starts_at, $8, granted, $1, granted,
      clock_timestamp() + $9::double precision * interval '1 second'
    from taken where granted > 0
    on conflict (id) do update set amount_nanos = l.amount_nanos + excluded.amount_nanos,
      operation_id = excluded.operation_id, granted_nanos = excluded.granted_nanos,
      expires_at = excluded.expires_at
    returning xmax = 0 as is_new
  )
  select exists (select from room) as is_there,
    coalesce((select granted from done), (select granted from taken), 0) as granted,
    coalesce((select available from room), 0) - coalesce((select granted from taken), 0)
      as available,
    coalesce((select is_new from lease), false) as is_new`;

/** Locks periods, always in the same order, and returns them. */
export function lockPeriods(
  tx: Queryable,
  periods: readonly BudgetPeriod[],
  wait: LockWait = "",
): Promise<readonly SqlRow[]> {
  return tx.query(
    `select budget_id, starts_at from budget_periods
     where (budget_id, starts_at) in (select * from unnest($1::text[], $2::timestamptz[]))
     order by budget_id, starts_at for update ${wait}`,
    columnsOf(periods),
  );
}

/**
 * Deletes locked periods, and all that refers to them; false if there are too many charges for one
 * transaction.
 */
export async function deletePeriods(
  tx: Queryable,
  periods: readonly BudgetPeriod[],
): Promise<boolean> {
  const charges = await tx.query(
    `delete from budget_charges where ctid = any(array(
       select c.ctid from unnest($1::text[], $2::timestamptz[]) as p(budget_id, starts_at)
       cross join lateral (
         select ctid from budget_charges
         where budget_id = p.budget_id and starts_at = p.starts_at offset 0
       ) as c limit ${deletedCharges})) returning 1 as one`,
    columnsOf(periods),
  );
  if (charges.length === deletedCharges) return false;
  await tx.query(
    `delete from budget_periods
     where (budget_id, starts_at) in (select * from unnest($1::text[], $2::timestamptz[]))`,
    columnsOf(periods),
  );
  return true;
}

/** The most charges that one transaction deletes: a month may have a million. */
const deletedCharges = 5_000;

function columnsOf(periods: readonly BudgetPeriod[]): [string[], Date[]] {
  return [periods.map(({ budgetId }) => budgetId), periods.map(({ startsAt }) => startsAt)];
}

export function readPeriod(row: SqlRow): BudgetPeriod {
  return { budgetId: String(row.budget_id), startsAt: row.starts_at as Date };
}

async function readAvailable(
  database: Queryable,
  periods: readonly BudgetPeriod[],
  now: Date,
): Promise<bigint[]> {
  const rows = await database.query(
    `select w.at, ${limitSql("$3")} - p.spent_nanos - p.leased_nanos as available
     from unnest($1::text[], $2::timestamptz[]) with ordinality as w (budget_id, starts_at, at)
     join budgets b on b.id = w.budget_id
     join budget_periods p on p.budget_id = w.budget_id and p.starts_at = w.starts_at`,
    [...columnsOf(periods), now],
  );
  const found = new Map(rows.map((row) => [Number(row.at), row.available as bigint]));
  return periods.map((_, at) => found.get(at + 1) ?? 0n);
}

const budgetLeases: LeaseTable<BudgetPeriod> = {
  name: "budget_leases",
  ownerColumns: "budget_id, starts_at",
  ownerOf: readPeriod,
  lock: lockPeriods,
  // Of these periods only: a lease of another one may have expired meanwhile, and whoever has
  // locked that period may wait for its leases.
  remove: (tx, which, values, periods, wait) =>
    tx.query(
      `with free as (
         select id from budget_leases where ${which} and (budget_id, starts_at) in (
           select * from unnest($${values.length + 1}::text[], $${
        values.length + 2
      }::timestamptz[]))
         for update ${wait}
       ), gone as (
         delete from budget_leases l using free where l.id = free.id
         returning l.budget_id, l.starts_at, l.amount_nanos
       ), sums as (
         select budget_id, starts_at, sum(amount_nanos)::bigint as nanos from gone
         group by budget_id, starts_at
       ), periods as (
         update budget_periods p set leased_nanos = p.leased_nanos - s.nanos
         from sums s where p.budget_id = s.budget_id and p.starts_at = s.starts_at
       )
       select amount_nanos from gone`,
      [...values, ...columnsOf(periods)],
    ),
};
