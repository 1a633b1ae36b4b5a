import type { InteractionListQuery, InteractionQuery } from "../../shared/interaction.ts";
import type { SqlValue } from "../../database/database.ts";
import { pushAll } from "../../base/lists.ts";
import type { ColumnName } from "../columns.ts";
import { wantedTexts } from "../filter_conditions.ts";

/** Columns that have an index in the list's order, the most selective first. */
const indexed: readonly ColumnName[] = [
  "request_id",
  "session_id",
  "user_id",
  "status",
  "mode",
  "cohort_id",
  "flow",
  "app",
  "api_key_id",
  "model",
  "vendor",
];

/** The most common value of a column, which its partial index leaves out. */
const unindexedDefaults: Partial<Record<ColumnName, string>> = {
  status: "completed",
  mode: "managed",
};

/** The most values of a filter that are looked up in its index one by one, for each window. */
export const maxLookUps = 500;

/** The condition of the index of a column that leaves out its most common value, as it is there. */
export function partialIndexCondition(column: ColumnName): string[] {
  const value = unindexedDefaults[column];
  return value === undefined ? [] : [`i.${column} <> '${value}'`];
}

/** A filter whose rows an index returns, those of each value in the list's order. */
export interface IndexedFilter {
  readonly column: ColumnName;
  readonly wanted: readonly string[];
}

/** Returns the filters that have an index, the most selective column first. */
export function indexedFilters(filters: InteractionQuery["filters"]): IndexedFilter[] {
  return indexed.flatMap((column) => {
    const wanted = wantedTexts(column, [filters?.[column] ?? []].flat());
    return wanted.length === 0 || wanted.includes(unindexedDefaults[column] ?? "")
      ? []
      : [{ column, wanted }];
  });
}

/** Adds the conditions on `i` that `interactionConditions` lacks: ranges, and the page's start. */
export function addFilters(
  { filters, costNanos, latencyMs, after, order }: Omit<InteractionListQuery, "limit">,
  conditions: string[],
  bind: (value: SqlValue) => string,
): void {
  for (const { column } of indexedFilters(filters)) {
    pushAll(conditions, partialIndexCondition(column));
  }
  if (costNanos?.min !== undefined) conditions.push(`i.cost_nanos >= ${bind(costNanos.min)}`);
  if (costNanos?.max !== undefined) conditions.push(`i.cost_nanos <= ${bind(costNanos.max)}`);
  if (latencyMs?.min !== undefined) conditions.push(`i.latency_ms >= ${bind(latencyMs.min)}`);
  if (latencyMs?.max !== undefined) conditions.push(`i.latency_ms <= ${bind(latencyMs.max)}`);
  if (!after) return;
  const beyond = order === "newest" ? "<" : ">";
  const [time, id] = [bind(after.createdAt), bind(after.transactionId)];
  conditions.push(`(i.created_at, i.transaction_id) ${beyond} (${time}, ${id})`);
  // Redundant, but a condition on time alone lets the planner skip partitions.
  conditions.push(`i.created_at ${beyond}= ${time}`);
}
