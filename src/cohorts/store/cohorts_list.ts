import type { CohortBounds, CohortLine, CohortPage } from "../cohort.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

/**
 * Cohorts from a name on. Names are found by stepping down the indexes from one to the next, and
 * of each cohort no more than the bounds allow is read: neither the account's size nor a cohort's
 * matters.
 */
export async function listCohorts(
  { database, analytics }: { database: Queryable; analytics: Queryable },
  accountId: number,
  { from, limit, ...bounds }: CohortBounds & { from: string; limit: number },
): Promise<CohortPage> {
  const start = sanitizeText(from);
  const called = await analytics.query(
    `${steps("interactions")} select cohort_id from names where cohort_id is not null limit $3`,
    [accountId, start, limit + 1],
    { forceCustomPlan: true },
  );
  const named = await database.query(
    `${steps("cohort_outcomes")} select cohort_id from (
       (select cohort_id from names where cohort_id is not null limit $3)
       union select unnest($4::text[])
     ) as all_names order by cohort_id limit $3`,
    [accountId, start, limit + 1, called.map(idOf)],
    { forceCustomPlan: true },
  );
  const ids = named.map(idOf);
  const next = ids.length > limit ? ids.pop() : undefined;
  const values = [accountId, ids, bounds.since, bounds.most];
  const calls = await analytics.query(latestCalls, values, { forceCustomPlan: true });
  const outcomes = await database.query(latestOutcomes, values, { forceCustomPlan: true });
  const lines = ids.map((id) => {
    const of = (rows: readonly SqlRow[]) => rows.find((row) => row.cohort_id === id)!;
    return readLine(id, of(calls), of(outcomes), bounds.most);
  });
  return { lines, next };
}

/** The names of a table in their order, each one step down its index. */
function steps(table: "interactions" | "cohort_outcomes"): string {
  const first = (condition: string) =>
    `select t.cohort_id from ${table} t where t.account_id = $1 and ${condition}
     order by t.cohort_id limit 1`;
  return `with recursive names as (
    (${first("t.cohort_id >= $2")})
    union all
    select (${first("t.cohort_id > names.cohort_id")}) from names
    where names.cohort_id is not null
  )`;
}

const latestCalls = `select wanted.id as cohort_id, last_call.at, sums.* from
    unnest($2::text[]) as wanted(id)
  left join lateral (
    select created_at as at from interactions
    where account_id = $1 and cohort_id = wanted.id order by created_at desc limit 1
  ) as last_call on true
  cross join lateral (
    select count(*) as counted, count(cost_nanos) as priced,
      coalesce(sum(cost_nanos), 0)::text as cost
    from (
      select cost_nanos from interactions where account_id = $1 and cohort_id = wanted.id
        and created_at >= coalesce($3::timestamptz, '-infinity')
      order by created_at desc limit $4
    ) as latest
  ) as sums`;

const latestOutcomes = `select wanted.id as cohort_id, sums.* from
    unnest($2::text[]) as wanted(id)
  cross join lateral (
    select count(*) as counted,
      coalesce(sum(value_nanos) filter (where type <> 'revenue'), 0)::text as conversions,
      (sum(value_nanos) filter (where type = 'revenue'))::text as revenue
    from (
      select type, value_nanos from cohort_outcomes where account_id = $1
        and cohort_id = wanted.id and created_at >= coalesce($3::timestamptz, '-infinity')
      order by created_at desc limit $4
    ) as latest
  ) as sums`;

function readLine(cohortId: string, calls: SqlRow, outcomes: SqlRow, most: number): CohortLine {
  return {
    cohortId,
    lastCallAt: calls.at as Date | null,
    calls: {
      counted: Number(calls.counted),
      priced: Number(calls.priced),
      costNanos: BigInt(String(calls.cost)),
      isCut: Number(calls.counted) >= most,
    },
    outcomes: {
      conversionNanos: BigInt(String(outcomes.conversions)),
      revenueNanos: outcomes.revenue === null ? null : BigInt(String(outcomes.revenue)),
      isCut: Number(outcomes.counted) >= most,
    },
  };
}

function idOf(row: SqlRow): string {
  return String(row.cohort_id);
}
