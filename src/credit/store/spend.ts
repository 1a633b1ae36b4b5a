import type { Interaction } from "../../shared/interaction.ts";
import { startOfDay, startOfMonth } from "../../shared/time_span.ts";
import type { CapUse, FullestCaps, ReadSpend } from "../spend_cap.ts";
import { chunksOf } from "../../base/lists.ts";
import type { Database, Queryable } from "../../database/database.ts";
import { deletedAtOnce, deleteInChunks } from "../../database/delete_in_chunks.ts";
import { lockKeyLeases } from "./key_leases.ts";

/** Charges of capped keys on PostgreSQL, served or embedded; triggers sum them up by day. */
export function createReadSpend(database: Queryable): ReadSpend {
  return async (keyIds, now) => {
    const rows = await database.query(readSql, [keyIds, startOfMonth(now), startOfDay(now)]);
    return new Map(rows.map((row) =>
      [String(row.api_key_id), {
        dayNanos: BigInt(String(row.day_nanos)),
        monthNanos: BigInt(String(row.month_nanos)),
      }] as const
    ));
  };
}

/** Ranks the caps in the database: an account may have a capped key for each of its customers. */
export function createFullestCaps(database: Queryable): FullestCaps {
  return async ({ accountId, since, day, limit }) => {
    const rows = await database.query(fullestSql, [accountId, since, day, limit]);
    const caps = rows.map((row): CapUse => ({
      keyId: String(row.id),
      keyName: String(row.name),
      period: row.period as CapUse["period"],
      spentNanos: BigInt(String(row.spent_nanos)),
      capNanos: row.cap_nanos as bigint,
    }));
    return { caps, all: Number(rows[0]?.all_caps ?? 0) };
  };
}

/** $1 account, $2 and $3 the beginning of the month and of the day, $4 limit. */
const fullestSql = `with caps as (
    select k.id, k.name, k.created_at, c.period, c.cap_nanos
    from api_keys k cross join lateral
      (values ('day', k.cap_day_nanos), ('month', k.cap_month_nanos)) as c (period, cap_nanos)
    where k.account_id = $1 and c.cap_nanos is not null and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > clock_timestamp())
  ), sums as (
    select api_key_id, sum(charged_nanos) as month_nanos,
      sum(charged_nanos) filter (where day >= $3::timestamptz) as day_nanos
    from key_spend
    where day >= $2::timestamptz and api_key_id in (select id from caps)
    group by api_key_id
  )
  select c.id, c.name, c.period, c.cap_nanos, spent.nanos::text as spent_nanos,
    count(*) over () as all_caps
  from caps c left join sums s on s.api_key_id = c.id
  cross join lateral (
    select coalesce(case c.period when 'day' then s.day_nanos else s.month_nanos end, 0) as nanos
  ) spent
  order by case when c.cap_nanos = 0 then 1 else greatest(spent.nanos, 0) / c.cap_nanos end desc,
    c.created_at, c.id, c.period
  limit $4`;

/** A call whose charge is written; `fromLeaseNanos` is what its process took from its leases. */
type CappedCharge =
  & Pick<Interaction, "transactionId" | "apiKeyId" | "createdAt" | "chargedNanos">
  & { leaseIds: readonly string[]; fromLeaseNanos: bigint };

/**
 * Writes the charges of calls whose keys have a cap, each once, and takes them out of the leases
 * that held them; part of the transaction that writes the calls' rows. A charge that is there
 * already is left as it is.
 */
export async function insertKeyCharges(
  tx: Queryable,
  calls: readonly CappedCharge[],
): Promise<void> {
  const charged = calls.filter(({ chargedNanos, fromLeaseNanos }) =>
    chargedNanos !== 0n || fromLeaseNanos !== 0n
  );
  const capped = await cappedKeys(tx, new Set(charged.map(({ apiKeyId }) => apiKeyId)));
  const rows = charged.filter(({ apiKeyId }) => capped.has(apiKeyId));
  if (rows.length === 0) return;
  await lockKeyLeases(tx, rows.flatMap(({ leaseIds }) => leaseIds));
  const sent = rows.map((row) => ({
    transaction_id: row.transactionId,
    api_key_id: row.apiKeyId,
    created_at: row.createdAt.toISOString(),
    charged_nanos: String(row.chargedNanos),
    drawn_nanos: String(row.fromLeaseNanos),
    leases: row.leaseIds.join(" "),
  }));
  await tx.query(insertCharges, [JSON.stringify(sent)]);
}

/** The leases are locked. */
const insertCharges = `with calls as (
    select distinct on (transaction_id) * from json_to_recordset($1::text::json)
      as r(transaction_id text, api_key_id text, created_at timestamptz, charged_nanos bigint,
        drawn_nanos bigint, leases text)
    order by transaction_id
  ), fresh as (
    insert into key_charges (transaction_id, api_key_id, created_at, charged_nanos)
    select transaction_id, api_key_id, created_at, charged_nanos from calls
    on conflict do nothing
    returning transaction_id
  ), drawn as (
    select lease_id, sum(drawn_nanos)::bigint as nanos
    from calls join fresh using (transaction_id),
      unnest(string_to_array(leases, ' ')) as lease_id
    group by lease_id
  )
  update key_leases l set amount_nanos = greatest(0, l.amount_nanos - d.nanos)
  from drawn d where l.id = d.lease_id`;

/**
 * Looks up each key by itself. Planned for each run: a cached plan, from when there were few keys,
 * would read all of them.
 */
async function cappedKeys(tx: Queryable, keyIds: ReadonlySet<string>): Promise<Set<string>> {
  if (keyIds.size === 0) return new Set();
  const rows = await tx.query(
    `select one.id from unnest($1::text[]) as one (id) cross join lateral (
       select from api_keys k where k.id = one.id
         and (k.cap_day_nanos is not null or k.cap_month_nanos is not null)
       offset 0
     ) capped`,
    [[...keyIds]],
    { forceCustomPlan: true },
  );
  return new Set(rows.map(({ id }) => String(id)));
}

/**
 * Carries a key's charges, by day, over to the key that replaces it, so that nobody gets a second
 * cap in the same month with a new key. Part of the transaction that replaces it.
 */
export async function carrySpend(
  tx: Queryable,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await tx.query(
    `insert into key_charges (transaction_id, api_key_id, created_at, charged_nanos)
     select 'replaced:' || $2::text || ':' || to_char(day at time zone 'UTC', 'YYYY-MM-DD'),
       $2::text, day, charged_nanos::bigint
     from key_spend where api_key_id = $1 and charged_nanos <> 0`,
    [from, to],
  );
}

/**
 * Removes charges of months that no cap looks at any more; returns how many. If `now` is too late,
 * charges go that caps still count; see `earlierNow`.
 */
export async function sweepKeyCharges(database: Database, now: Date): Promise<number> {
  // A month more than any cap needs, for processes whose clocks differ.
  const before = startOfMonth(now, -1);
  // By key, since charges have no index on time alone; usually no key has old ones.
  const old = await database.query("select distinct api_key_id from key_spend where day < $1", [
    before,
  ]);
  let removed = 0;
  for (const keys of chunksOf(old.map(({ api_key_id }) => String(api_key_id)), sweptKeys)) {
    removed += await deleteInChunks(database, deleteCharges, [before, keys]);
    await deleteInChunks(database, deleteEmptySums, [before, keys]);
  }
  return removed;
}

const sweptKeys = 1_000;

/** $1 time, $2 keys. Rows that another transaction is changing, in its own order, are left. */
const deleteCharges = `delete from key_charges where transaction_id = any(array(
    select transaction_id from key_charges
    where api_key_id = any($2::text[]) and created_at < $1
    limit ${deletedAtOnce} for update skip locked)) returning 1 as one`;

const deleteEmptySums = `delete from key_spend where ctid = any(array(
    select ctid from key_spend
    where api_key_id = any($2::text[]) and day < $1 and charged_nanos = 0
    limit ${deletedAtOnce} for update skip locked)) returning 1 as one`;

/**
 * $1 keys, $2 and $3 the beginning of the month and of the day. Sums of bigints are numeric, which
 * both drivers return as text.
 */
const readSql = `select api_key_id, sum(charged_nanos)::text as month_nanos,
    coalesce(sum(charged_nanos) filter (where day >= $3::timestamptz), 0)::text as day_nanos
  from key_spend
  where api_key_id = any($1::text[]) and day >= $2::timestamptz
  group by api_key_id`;
