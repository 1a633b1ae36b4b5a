import { parseExactly } from "../../base/exact_json.ts";
import { valuesByName } from "../../base/lists.ts";
import { labelSums } from "../label_step.ts";
import { LatencyHistogram } from "../latency_histogram.ts";
import {
  isWholeDays,
  maxWithCosts,
  usageBy,
  type UsageGroupSums,
  type UsageQuery,
  type UsageStore,
  type UsageSums,
} from "../usage_sums.ts";
import type { GroupSums } from "../../shared/interaction.ts";
import type { Queryable, SqlRow, SqlValue } from "../../database/database.ts";
import { sumColumns } from "./count_usage.ts";

/** Builds the reader of the sums that `count_usage.ts` keeps in the database of the calls. */
export function createUsageSums(analytics: Queryable): UsageStore {
  return {
    async steps(query, starts) {
      // Adding up in the database costs less than sending rows of fifteen sums.
      const rows = await analytics.query(
        `select ${starts ? stepOfHour : "at"} as at, ${summed}
         from usage_sums where ${within} and part = 'all' group by 1 order by 1`,
        starts ? [...boundaries(query), starts] : boundaries(query),
      );
      return rows.map((row) => ({ at: row.at as Date, ...readSums(row) }));
    },
    firstHour: (accountId) => firstHour(analytics, accountId),
    async storedSteps(query) {
      const rows = await analytics.query(statesSql, boundaries(query));
      return rows.map((row) => ({ at: row.at as Date, state: String(row.state) }));
    },
    async erased(query) {
      const [row] = await analytics.query(
        `select coalesce(sum(calls), 0) as calls, coalesce(sum(cost_nanos), 0) as cost_nanos,
           coalesce(sum(charged_nanos), 0) as charged_nanos
         from usage_sums where ${within} and part = 'all' and erased`,
        boundaries(query),
      );
      return {
        calls: Number(row!.calls),
        costNanos: whole(row!.cost_nanos),
        chargedNanos: whole(row!.charged_nanos),
      };
    },
    groups: (...args) => groupSums(analytics, ...args),
    async values(query, part, limit) {
      // Ranking by days, where the span allows it, reads the fewest rows.
      const rankedBy = isWholeDays(query) ? "day" : query.span;
      const asked = [part, limit, query.storedOnly === true];
      const rows = limit > maxWithCosts
        ? await analytics.query(allValuesSql, [
          ...boundaries({ ...query, span: rankedBy }),
          ...asked,
        ])
        : await analytics.query(dearestSql, [...boundaries(query), ...asked, rankedBy]);
      return {
        values: rows.map((row) => ({
          value: String(row.value),
          ...readSums(row),
          costs: readCosts(String(row.costs ?? "[]")),
        })),
        all: Number(rows[0]?.all_values ?? 0),
      };
    },
  };
}

/** Every hour with a stored call has a row; erased calls have rows of their own. */
async function firstHour(analytics: Queryable, accountId: number): Promise<Date | undefined> {
  const [row] = await analytics.query(
    `select at from usage_sums where account_id = $1 and span = 'hour' and part = 'all'
       and not erased order by at limit 1`,
    [accountId],
  );
  return row?.at as Date | undefined;
}

async function groupSums(
  analytics: Queryable,
  query: UsageQuery,
  { part, byDay, erasedOnly = false }: { part: string; byDay: boolean; erasedOnly?: boolean },
  most: number,
): Promise<UsageGroupSums[] | undefined> {
  const day = byDay ? "(at at time zone 'UTC')::date::text" : "null::text";
  const rows = await analytics.query(
    `select value, erased, ${day} as day, sum(calls) as calls,
       sum(failed) + sum(truncated) + sum(interrupted) as failed,
       sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
       sum(cost_nanos) as cost_nanos, sum(charged_nanos) as charged_nanos
     from usage_sums where ${within} and part = $5 and (erased or not $7::boolean)
     group by 1, 2, 3 having sum(calls) > 0 limit $6`,
    [...boundaries(query), part, most + 1, erasedOnly],
  );
  if (rows.length > most) return undefined;
  return rows.map((row) => ({
    value: String(row.value),
    day: row.day as string | null,
    erased: row.erased === true,
    ...readGroupSums(row),
  }));
}

export function readGroupSums(row: SqlRow): GroupSums {
  return {
    calls: whole(row.calls),
    failed: whole(row.failed),
    inputTokens: whole(row.input_tokens),
    outputTokens: whole(row.output_tokens),
    costNanos: whole(row.cost_nanos),
    chargedNanos: whole(row.charged_nanos),
  };
}

/** The condition for the parameters $1 to $4, which are those of `boundaries`. */
const within = "account_id = $1 and span = $2 and at >= $3 and at < $4";

/** The last time among `starts` ($5) that isn't after the hour or day. */
const stepOfHour = "($5::timestamptz[])[width_bucket(at, $5::timestamptz[])]";

function boundaries({ accountId, span, from, to }: UsageQuery): SqlValue[] {
  return [accountId, span, from, to];
}

const summed = sumColumns.map((name) => `sum(${name}) as ${name}`).join(", ");

/** The sums of one part ($5), without those of erased calls if $7. */
const ofPart = "part = $5 and not ($7 and erased)";

/**
 * Ranks the values by one span ($8). Only those that are shown get all sums and their costs by step,
 * each found by its key, because histograms are long.
 */
const dearestSql = `with dearest as (
    select value, count(*) over () as all_values, sum(cost_nanos) as cost, sum(calls) as made
    from usage_sums where account_id = $1 and span = $8 and at >= $3 and at < $4 and ${ofPart}
    group by value having sum(calls) > 0
    order by cost desc, made desc, value limit $6
  ), steps as (
    select distinct at from usage_sums where ${within} and part = 'all'
  )
  select d.value, all_values, ${summed},
    json_agg(json_build_array(s.at, cost_nanos::text))::text as costs
  from dearest d cross join steps
  cross join lateral (
    select * from usage_sums where ${within} and ${ofPart} and at = steps.at and value = d.value
    offset 0
  ) as s
  group by d.value, all_values, cost, made order by cost desc, made desc, d.value`;

/** Reads each row once: to find every value in every step takes ten times as long. */
const allValuesSql = `select value, count(*) over () as all_values, ${summed}
  from usage_sums where ${within} and ${ofPart}
  group by value having sum(calls) > 0
  order by cost_nanos desc, calls desc, value limit $6`;

/**
 * The state of a step includes the sums of erased calls, which only grow. So it changes even if an
 * erased call is replaced by an equal one. It is a hash, since the sums' digits take a kilobyte.
 */
const statesSql = `select at, left(encode(sha256(convert_to(string_agg(
    concat_ws(' ', erased, ${sumColumns.join(", ")}), ';' order by erased
  ), 'UTF8')), 'hex'), 32) as state
  from usage_sums where ${within} and part = 'all' group by at order by at`;

/** The columns of the sums, by their names in `UsageSums`. */
const columnOf = valuesByName(
  labelSums,
  (name) => name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`),
);

function readSums(row: SqlRow): UsageSums {
  return usageBy(
    (name) => Number(row[columnOf[name]]),
    (name) => whole(row[columnOf[name]]),
    LatencyHistogram.parse(String(row.latencies)),
  );
}

/** Reads JSON of pairs of time and nano-dollars; adds up pairs with the same time. */
function readCosts(text: string): Map<number, bigint> {
  const costs = new Map<number, bigint>();
  for (const [time, nanos] of parseExactly(text) as [string, string][]) {
    const at = Date.parse(time);
    costs.set(at, (costs.get(at) ?? 0n) + BigInt(nanos));
  }
  return costs;
}

/** Sums of integers come as `numeric`, whose text is a whole number. */
function whole(value: unknown): bigint {
  return BigInt(String(value));
}
