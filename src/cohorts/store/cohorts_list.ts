import { chunksOf, pushAll } from "../../base/lists.ts";
import type { CohortBounds, CohortLine, CohortPage } from "../cohort.ts";
import type { AnalyticsReads, CohortCosts } from "../../records/analytics_store.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

/**
 * Lists cohorts, starting with the name `from`. The time taken depends neither on the account's
 * size nor on a cohort's: names are found by stepping from one to the next in the indexes, and no
 * more of a cohort is read than the bounds allow.
 */
export async function listCohorts(
  { database, analytics }: {
    database: Queryable;
    analytics: Pick<AnalyticsReads, "cohortNames" | "cohortCosts">;
  },
  accountId: number,
  { from, limit, ...bounds }: CohortBounds & { from: string; limit: number },
): Promise<CohortPage> {
  const start = sanitizeText(from);
  const called = await analytics.cohortNames(accountId, start, limit + 1);
  const named = await database.query(namesSql, [accountId, start, limit + 1, called], {
    forceCustomPlan: true,
  });
  const ids = named.map((row) => String(row.cohort_id));
  const next = ids.length > limit ? ids.pop() : undefined;
  const lines: CohortLine[] = [];
  for (const some of chunksOf(ids, Math.max(1, Math.floor(rowsAtOnce / bounds.most)))) {
    const calls = await analytics.cohortCosts(accountId, some, bounds);
    const outcomes = await database.query(
      latestOutcomes,
      [accountId, some, bounds.since, bounds.most],
      { forceCustomPlan: true },
    );
    const callsOf = new Map(calls.map((one) => [one.cohortId, one]));
    const outcomesOf = new Map(outcomes.map((row) => [row.cohort_id, row]));
    pushAll(lines, some.map((id) => readLine(callsOf.get(id)!, outcomesOf.get(id)!, bounds.most)));
  }
  return { lines, next };
}

/** How many rows one statement reads: the embedded database does nothing else meanwhile. */
const rowsAtOnce = 10_000;

const first = (condition: string) =>
  `select o.cohort_id from cohort_outcomes o where o.account_id = $1 and ${condition}
   order by o.cohort_id limit 1`;

/**
 * Merges the cohorts that outcomes name, one index step each, with those that calls name (`$4`).
 */
const namesSql = `with recursive names as (
    (${first("o.cohort_id >= $2")})
    union all
    select (${first("o.cohort_id > names.cohort_id")}) from names
    where names.cohort_id is not null
  )
  select cohort_id from (
    (select cohort_id from names where cohort_id is not null limit $3)
    union select unnest($4::text[])
  ) as all_names order by cohort_id limit $3`;

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

function readLine(calls: CohortCosts, outcomes: SqlRow, most: number): CohortLine {
  return {
    cohortId: calls.cohortId,
    lastCallAt: calls.lastCallAt,
    calls: {
      counted: calls.calls,
      priced: calls.priced,
      costNanos: calls.costNanos,
      isCut: calls.calls >= most,
    },
    outcomes: {
      conversionNanos: BigInt(String(outcomes.conversions)),
      revenueNanos: outcomes.revenue === null ? null : BigInt(String(outcomes.revenue)),
      isCut: Number(outcomes.counted) >= most,
    },
  };
}
