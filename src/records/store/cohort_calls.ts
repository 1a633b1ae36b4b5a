import type { CallBounds, CohortCallSums, CohortCosts } from "../analytics_store.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import type { Sums } from "../../shared/call_sums.ts";

/** Sums of cohorts that have calls: of all calls, or of the latest within the bounds. */
export async function cohortSums(
  database: Queryable,
  accountId: number,
  cohortIds: readonly string[],
  bounds?: CallBounds,
): Promise<CohortCallSums[]> {
  const rows = await database.query(sumsOf(bounds ? latestCalls : allCalls), [
    accountId,
    cohortIds,
    ...(bounds ? [bounds.since, bounds.most] : []),
  ], { forceCustomPlan: true });
  return rows.map(readCallSums);
}

export function readCallSums(row: SqlRow): CohortCallSums {
  return {
    cohortId: String(row.cohort_id),
    interactions: row.interactions as bigint,
    firstAt: row.first_at as Date,
    completed: row.completed as bigint,
    cost: readSums(row, "cost"),
    inputTokens: readSums(row, "input"),
    outputTokens: readSums(row, "output"),
    latency: readSums(row, "latency"),
    latencyP50: row.p50 as number | null,
    latencyP95: row.p95 as number | null,
  };
}

/**
 * Selects the sums of one column, with what its spread is computed from, as `readSums` reads them.
 */
function columnSums(name: string, column: string, of = "true"): string {
  return `count(${column}) filter (where ${of}) as ${name}_count,
    coalesce(sum(${column}) filter (where ${of}), 0) as ${name}_sum,
    coalesce(sum(${column}::numeric * ${column}) filter (where ${of}), 0) as ${name}_squares`;
}

const completed = "status = 'completed'";

/** Calls of the cohorts $2. */
export const allCalls = "interactions where account_id = $1 and cohort_id = any($2::text[])";

/** The time of a cohort's last call, by one index lookup in each month (see `lastUses`). */
const lastCall = `(
    select created_at as at from interactions
    where account_id = $1 and cohort_id between wanted.id and wanted.id
    order by cohort_id desc, created_at desc limit 1
  ) as last_call`;

/**
 * Whether the cohort has calls since $3. Without any, a plan that goes by time would read the calls
 * of all cohorts.
 */
const hasCalls = "last_call.at >= coalesce($3::timestamptz, '-infinity')";

/** The latest $4 calls of each cohort since $3. */
export const latestCalls = `unnest($2::text[]) as wanted(id)
  cross join lateral ${lastCall} cross join lateral (
    select cohort_id, vendor, model, created_at, status, cost_nanos, input_tokens, output_tokens,
      latency_ms
    from interactions where account_id = $1 and cohort_id = wanted.id and ${hasCalls}
      and created_at >= coalesce($3::timestamptz, '-infinity')
    order by created_at desc limit $4
  ) as latest`;

/** Selects the sums of calls by cohort, or by other columns, with further columns. */
export const sumsOf = (from: string, { columns = "", by = "cohort_id" } = {}) =>
  `select cohort_id, ${
    columns && `${columns},`
  } count(*) as interactions, min(created_at) as first_at,
    count(*) filter (where ${completed}) as completed,
    ${columnSums("cost", "cost_nanos")},
    ${columnSums("input", "input_tokens")},
    ${columnSums("output", "output_tokens")},
    ${columnSums("latency", "latency_ms", completed)},
    percentile_cont(0.5) within group (order by latency_ms) filter (where ${completed}) as p50,
    percentile_cont(0.95) within group (order by latency_ms) filter (where ${completed}) as p95
  from ${from} group by ${by}`;

/** Sums of integers come as `numeric`, whose text is a whole number. */
function readSums(row: SqlRow, name: string): Sums {
  const whole = (column: string) => BigInt(String(row[`${name}_${column}`]));
  return { count: whole("count"), sum: whole("sum"), sumOfSquares: whole("squares") };
}

/**
 * Reads names of cohorts, beginning at `from`. Each name takes one step down the index, however
 * many calls the cohort has.
 */
export async function cohortNames(
  database: Queryable,
  accountId: number,
  from: string,
  limit: number,
): Promise<string[]> {
  const rows = await database.query(namesSql, [accountId, from, limit], { forceCustomPlan: true });
  return rows.map((row) => String(row.cohort_id));
}

const firstName = (condition: string) =>
  `select i.cohort_id from interactions i where i.account_id = $1 and ${condition}
   order by i.cohort_id limit 1`;

const namesSql = `with recursive names as (
    (${firstName("i.cohort_id >= $2")})
    union all
    select (${firstName("i.cohort_id > names.cohort_id")}) from names
    where names.cohort_id is not null
  ) select cohort_id from names where cohort_id is not null limit $3`;

export async function cohortCosts(
  database: Queryable,
  accountId: number,
  cohortIds: readonly string[],
  { since, most }: CallBounds,
): Promise<CohortCosts[]> {
  const rows = await database.query(costsSql, [accountId, cohortIds, since, most], {
    forceCustomPlan: true,
  });
  return rows.map((row) => ({
    cohortId: String(row.cohort_id),
    lastCallAt: row.at as Date | null,
    calls: Number(row.counted),
    priced: Number(row.priced),
    costNanos: BigInt(String(row.cost)),
  }));
}

const costsSql = `select wanted.id as cohort_id, last_call.at, sums.* from
    unnest($2::text[]) as wanted(id)
  left join lateral ${lastCall} on true
  cross join lateral (
    select count(*) as counted, count(cost_nanos) as priced,
      coalesce(sum(cost_nanos), 0)::text as cost
    from (
      select cost_nanos from interactions
      where account_id = $1 and cohort_id = wanted.id and ${hasCalls}
        and created_at >= coalesce($3::timestamptz, '-infinity')
      order by created_at desc limit $4
    ) as latest
  ) as sums`;
