import type { Queryable } from "../../database/database.ts";
import type { UsageGroup } from "../../../contracts/data/usage.ts";
import type { GroupedCalls, GroupedCallsQuery } from "../../shared/interaction.ts";
import { readGroupSums } from "../../usage/store/usage_sums.ts";

/** The values of each label, cut to the same length as in `usage_sums`. */
const expressions: Readonly<Record<UsageGroup, string>> = {
  model: "left(i.vendor || '/' || i.model, 256)",
  vendor: "i.vendor",
  app: "i.app",
  flow: "i.flow",
  user: "i.user_id",
  api_key: "i.api_key_id",
  cohort: "i.cohort_id",
  day: "(i.created_at at time zone 'UTC')::date::text",
};

/**
 * Sums over the calls of a span, all of which are read. For a long span,
 * `src/usage/usage_report.ts` asks piece by piece.
 */
export async function groupedCalls(
  database: Queryable,
  { accountId, labels, from, to, most }: GroupedCallsQuery,
): Promise<GroupedCalls[] | undefined> {
  const values = labels.map((label, at) => `${expressions[label]} as label_${at}`);
  const groups = labels.map((_, at) => String(at + 1));
  const rows = await database.query(
    `select ${[...values, sums].join(", ")} from interactions i
     where i.account_id = $1 and i.created_at >= $2 and i.created_at < $3
     ${groups.length === 0 ? "" : `group by ${groups.join(", ")}`} limit $4`,
    [accountId, from, to, most + 1],
    { forceCustomPlan: true },
  );
  if (rows.length > most) return undefined;
  return rows.map((row) => ({
    values: labels.map((_, at) => row[`label_${at}`] as string | null),
    ...readGroupSums(row),
  }));
}

const sums = `count(*) as calls,
  count(*) filter (where i.status in ('failed', 'truncated', 'interrupted')) as failed,
  coalesce(sum(i.input_tokens), 0) as input_tokens,
  coalesce(sum(i.output_tokens), 0) as output_tokens,
  coalesce(sum(i.cost_nanos), 0) as cost_nanos,
  coalesce(sum(i.charged_nanos), 0) as charged_nanos`;
