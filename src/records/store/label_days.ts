import { parseExactly } from "../../base/exact_json.ts";
import { valuesByName } from "../../base/lists.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import {
  type LabelStep,
  type LabelSum,
  labelSums,
  type UsageLabel,
} from "../../usage/label_step.ts";
import { type LabelRows, maxValuesADay } from "../../usage/label_usage.ts";
import { idBytes } from "../../usage/packed_step.ts";

const columns: Readonly<Record<UsageLabel, string>> = {
  user: "user_id",
  flow: "flow",
  cohort: "cohort_id",
};

/** Sums of calls by a label that callers gave them, from the rows of calls. */
export function createLabelRows(database: Queryable): LabelRows {
  return {
    async read({ accountId, span, from, to }, label) {
      const rows = await database.query(sumsSql(columns[label]), [
        accountId,
        span,
        from,
        to,
        maxValuesADay,
      ], { forceCustomPlan: true });
      return rows.map(readStep);
    },
  };
}

const count = (condition: string) => `count(*) filter (where ${condition})`;
const sum = (column: string, of = "true") => `coalesce(sum(${column}) filter (where ${of}), 0)`;

const sums: Readonly<Record<LabelSum, string>> = {
  calls: "count(*)",
  failed: count("status = 'failed'"),
  truncated: count("status = 'truncated'"),
  cancelled: count("status = 'cancelled'"),
  interrupted: count("status = 'interrupted'"),
  unpriced: count("cost_nanos is null and billing_basis <> 'none'"),
  inputTokens: sum("input_tokens"),
  cacheReadTokens: sum("cache_read_tokens"),
  cacheWriteTokens: sum("cache_write_tokens"),
  outputTokens: sum("output_tokens"),
  reasoningTokens: sum("reasoning_tokens"),
  costNanos: sum("cost_nanos"),
  chargedNanos: sum("charged_nanos"),
  ownKeyNanos: sum("cost_nanos", "mode <> 'managed'"),
};

/**
 * Selects one row for each hour or day, with an array for each sum: the driver is slow with many
 * short rows.
 */
const sumsSql = (column: string) =>
  `select at, json_agg(value)::text as labels,
    string_agg(substr(sha256(convert_to(value, 'UTF8')), 1, ${idBytes}), ''::bytea) as ids,
    ${labelSums.map((name) => `json_agg("${name}")::text as "${name}"`).join(", ")}
  from (
    select date_trunc($2, created_at, 'UTC') as at, coalesce(${column}, '') as value,
      ${labelSums.map((name) => `${sums[name]} as "${name}"`).join(", ")},
      row_number() over (partition by date_trunc($2, created_at, 'UTC')
        order by sum(cost_nanos) desc nulls last, count(*) desc) as place
    from interactions where account_id = $1 and created_at >= $3 and created_at < $4
    group by 1, 2
  ) as sums where place <= $5 group by at`;

function readStep(row: SqlRow): LabelStep {
  return {
    at: row.at as Date,
    ids: row.ids as Uint8Array,
    values: parseExactly(String(row.labels)) as string[],
    sums: valuesByName(labelSums, (name) => parseExactly(String(row[name])) as number[]),
  };
}
