import type { Database, Queryable } from "../../database/database.ts";
import { createLeaseKeeper, type LeaseTable, readTaken } from "../../database/lease_table.ts";
import { dayMs, startOfMonth } from "../../shared/time_span.ts";
import type { LeaseRequest, LeaseReturn, LeaseTaken } from "../ledger.ts";
import type { CapPeriod, CapStore } from "../spend_cap.ts";

/**
 * Leases of keys' caps. What is left of a cap is its limit without the sums of charges and without
 * all leases. So only those who lease wait for each other: a charge takes out of leases what it adds
 * to the sums, in one transaction, and leases that are returned only add to what is left.
 */
export function createKeyLeases(database: Database): CapStore & KeyLeaseSweeps {
  return {
    take: (request, atMost) => database.transaction((tx) => takeKeyLease(tx, request, atMost)),
    release: (back) => database.transaction((tx) => releaseKeyLease(tx, back)),
    available: (periods) => readLeft(database, periods),
    ...createLeaseKeeper(database, keyLeases),
  };
}

type KeyLeaseSweeps = Pick<ReturnType<typeof createLeaseKeeper>, "sweepExpired" | "takeBack">;

/** Locks leases, always in the same order. */
export async function lockKeyLeases(tx: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.query("select from key_leases where id = any($1::text[]) order by id for update", [ids]);
}

async function takeKeyLease(
  tx: Queryable,
  request: LeaseRequest<CapPeriod>,
  atMost: bigint,
): Promise<LeaseTaken> {
  const { keyId, per, startsAt } = request.accountId;
  const name = `key lease/${keyId}/${per}/${startsAt.getTime()}`;
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [name]);
  // A separate statement, which sees what was taken before.
  const [row] = await tx.query(takeSql, [
    ...columnsOf([request.accountId]),
    ...[atMost, request.operationId, request.atLeastNanos, request.wantedNanos],
    ...[request.aheadNanos, request.leaseId, request.processId, request.leaseSeconds],
  ]);
  return readTaken(row!);
}

async function releaseKeyLease(tx: Queryable, back: LeaseReturn<CapPeriod>): Promise<bigint> {
  await tx.query(
    `update key_leases set amount_nanos = greatest(0, amount_nanos - $2::bigint),
       operation_id = $3, granted_nanos = 0
     where id = $1 and operation_id <> $3`,
    [back.leaseId, back.amountNanos, back.operationId],
  );
  return (await readLeft(tx, [back.accountId]))[0]!;
}

async function readLeft(database: Queryable, periods: readonly CapPeriod[]): Promise<bigint[]> {
  const rows = await database.query(`${leftSql} order by at`, [...columnsOf(periods), unlimited]);
  return rows.map(({ available }) => available as bigint);
}

/** More than any call costs, and far from the end of a bigint. */
const unlimited = 1n << 60n;

function columnsOf(periods: readonly CapPeriod[]): [string[], string[], Date[], Date[]] {
  return [
    periods.map(({ keyId }) => keyId),
    periods.map(({ per }) => per),
    periods.map(({ startsAt }) => startsAt),
    periods.map(({ per, startsAt }) =>
      per === "day" ? new Date(startsAt.getTime() + dayMs) : startOfMonth(startsAt, 1)
    ),
  ];
}

/**
 * What is left of periods: $1 keys, $2 spans, $3 starts, $4 ends; $5 the most that a limit may be,
 * and the limit of a key whose cap was removed.
 */
const leftSql = `select p.at, greatest(${-unlimited}, least($5::bigint,
      case p.per when 'day' then k.cap_day_nanos else k.cap_month_nanos end)
    - coalesce(spent.nanos, 0) - coalesce(leased.nanos, 0))::bigint as available
  from unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[])
    with ordinality as p (api_key_id, per, starts_at, ends_at, at)
  left join api_keys k on k.id = p.api_key_id
  left join lateral (
    select sum(charged_nanos) as nanos from key_spend s
    where s.api_key_id = p.api_key_id and s.day >= p.starts_at and s.day < p.ends_at
  ) spent on true
  left join lateral (
    select sum(amount_nanos) as nanos from key_leases l
    where l.api_key_id = p.api_key_id and l.per = p.per and l.starts_at = p.starts_at
  ) leased on true`;

/**
 * $1 to $5 as above, for one period; $6 operation, $7 at least, $8 wanted, $9 ahead, $10 lease,
 * $11 process, $12 seconds.
 */
const takeSql = `with done as (
    select granted_nanos as granted from key_leases where id = $10 and operation_id = $6
  ), room as (
    ${leftSql}
  ), taken as (
    select least(available, greatest($8::bigint, least($9::bigint, available / 4))) as granted
    from room
    where available > 0 and available >= $7::bigint and not exists (select from done)
  ), lease as (
    insert into key_leases as l (id, api_key_id, per, starts_at, process_id, amount_nanos,
      operation_id, granted_nanos, expires_at)
    select $10, ($1::text[])[1], ($2::text[])[1], ($3::timestamptz[])[1], $11, granted, $6, granted,
      clock_timestamp() + $12::double precision * interval '1 second'
    from taken where granted > 0
    on conflict (id) do update set amount_nanos = l.amount_nanos + excluded.amount_nanos,
      operation_id = excluded.operation_id, granted_nanos = excluded.granted_nanos,
      expires_at = excluded.expires_at
    returning xmax = 0 as is_new
  )
  select coalesce((select granted from done), (select granted from taken), 0) as granted,
    (select available from room) - coalesce((select granted from taken), 0) as available,
    coalesce((select is_new from lease), false) as is_new`;

/** Leases have no owner's sum that would have to be locked. */
const keyLeases: LeaseTable<string> = {
  name: "key_leases",
  ownerColumns: "api_key_id",
  ownerOf: ({ api_key_id }) => String(api_key_id),
  lock: (_tx, keyIds) => Promise.resolve(keyIds.map((api_key_id) => ({ api_key_id }))),
  remove: (tx, which, values, keyIds, wait) =>
    tx.query(
      `delete from key_leases where id in (
         select id from key_leases
         where ${which} and api_key_id = any($${values.length + 1}::text[])
         order by id for update ${wait})
       returning amount_nanos`,
      [...values, keyIds],
    ),
};
