import type { Queryable, SqlRow } from "../../database/database.ts";
import {
  type DayLabelSums,
  type LabelRows,
  maxValuesADay,
  type UsageLabel,
} from "../../usage/label_usage.ts";

const columns: Readonly<Record<UsageLabel, string>> = {
  user: "user_id",
  flow: "flow",
  cohort: "cohort_id",
};

/** Sums of calls by a label that callers gave them, from the rows of calls. */
export function createLabelRows(database: Queryable): LabelRows {
  return {
    async read({ accountId, span, from, to }, label) {
      const rows = await database.query(
        sumsSql(columns[label]),
        [accountId, span, from, to, maxValuesADay],
        { forceCustomPlan: true },
      );
      return rows.map(readSums);
    },
  };
}

const count = (condition: string) => `count(*) filter (where ${condition})`;
const sum = (column: string, of = "true") =>
  `coalesce(sum(${column}) filter (where ${of}), 0)::text`;

const sumsSql = (column: string) =>
  `select * from (
  select date_trunc($2, created_at, 'UTC') as at, coalesce(${column}, '') as value,
    count(*) as calls, ${count("status = 'failed'")} as failed,
    ${count("status = 'truncated'")} as truncated,
    ${count("status = 'cancelled'")} as cancelled,
    ${count("status = 'interrupted'")} as interrupted,
    ${count("cost_nanos is null and billing_basis <> 'none'")} as unpriced,
    ${sum("input_tokens")} as input_tokens, ${sum("cache_read_tokens")} as cache_read_tokens,
    ${sum("cache_write_tokens")} as cache_write_tokens, ${sum("output_tokens")} as output_tokens,
    ${sum("reasoning_tokens")} as reasoning_tokens, ${sum("cost_nanos")} as cost_nanos,
    ${sum("charged_nanos")} as charged_nanos,
    ${sum("cost_nanos", "mode <> 'managed'")} as own_key_nanos,
    row_number() over (partition by date_trunc($2, created_at, 'UTC')
      order by sum(cost_nanos) desc nulls last, count(*) desc) as place
  from interactions where account_id = $1 and created_at >= $3 and created_at < $4
  group by 1, 2) as sums where place <= $5`;

function readSums(row: SqlRow): DayLabelSums {
  const whole = (name: string) => BigInt(String(row[name]));
  return {
    at: row.at as Date,
    value: String(row.value),
    calls: Number(row.calls),
    failed: Number(row.failed),
    truncated: Number(row.truncated),
    cancelled: Number(row.cancelled),
    interrupted: Number(row.interrupted),
    unpriced: Number(row.unpriced),
    inputTokens: whole("input_tokens"),
    cacheReadTokens: whole("cache_read_tokens"),
    cacheWriteTokens: whole("cache_write_tokens"),
    outputTokens: whole("output_tokens"),
    reasoningTokens: whole("reasoning_tokens"),
    costNanos: whole("cost_nanos"),
    chargedNanos: whole("charged_nanos"),
    ownKeyNanos: whole("own_key_nanos"),
  };
}
