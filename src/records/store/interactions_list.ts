import type { InteractionListQuery, InteractionPage } from "../../shared/interaction.ts";
import type { Queryable, SqlValue } from "../../database/database.ts";
import { type ColumnName, readSummary, selectedColumns } from "../columns.ts";
import { interactionConditions } from "../filter_conditions.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

/**
 * One page by keyset. Whatever narrows the list to few rows is read from an index of its own in
 * the list's order, so that neither the account's size nor the page's number matters.
 */
export async function listInteractions(
  database: Queryable,
  query: InteractionListQuery,
): Promise<InteractionPage> {
  const { text, values } = pageSql(query);
  const rows = (await database.query(text, values, { forceCustomPlan: true })).map(readSummary);
  if (rows.length <= query.limit) return { rows };
  rows.length = query.limit;
  const { createdAt, transactionId } = rows.at(-1)!;
  return { rows, next: { createdAt, transactionId } };
}

/** Columns with an index of their own, the one that leaves the fewest rows first. */
const indexed: readonly ColumnName[] = [
  "session_id",
  "user_id",
  "cohort_id",
  "flow",
  "app",
  "api_key_id",
  "model",
  "status",
  "mode",
  "vendor",
];

/** Values that most rows have, which an index of the column leaves out. */
const usual: Partial<Record<ColumnName, string>> = { status: "completed", mode: "managed" };

/** Values of one column that are looked for one by one. */
const maxLeads = 20;

function pageSql(query: InteractionListQuery): { text: string; values: SqlValue[] } {
  const lead = leadOf(query);
  const filters = Object.entries(query.filters ?? {}).filter(([column]) => column !== lead?.column);
  const { conditions, values } = interactionConditions({
    ...query,
    filters: Object.fromEntries(filters),
  });
  const bind = (value: SqlValue) => `$${values.push(value)}`;
  addFilters(query, conditions, bind);
  const way = query.order === "newest" ? "desc" : "asc";
  const select = (more: readonly string[]) =>
    `select ${selectedColumns} from interactions i
     where ${[...conditions, ...more].join(" and ")}
     order by i.created_at ${way}, i.transaction_id ${way} limit ${limit}`;
  // One row more tells whether there is another page.
  const limit = bind(query.limit + 1);
  if (!lead) return { text: select([]), values };
  // Each value's rows come in the list's order; those of several values together would not.
  const each = lead.wanted.map((value) => `(${select([`i.${lead.column} = ${bind(value)}`])})`);
  return {
    text: `${each.join(" union all ")}
      order by created_at ${way}, transaction_id ${way} limit ${limit}`,
    values,
  };
}

/** A column that narrows the list by several values, where none does by one. */
function leadOf(
  { filters }: InteractionListQuery,
): { column: ColumnName; wanted: string[] } | null {
  const given = indexed.flatMap((column) => {
    const wanted = [
      ...new Set((filters?.[column] ?? []).map((value) => sanitizeText(String(value)))),
    ];
    return wanted.length === 0 || wanted.includes(usual[column] ?? "") ? [] : [{ column, wanted }];
  });
  if (given.some(({ wanted }) => wanted.length === 1)) return null;
  return given.find(({ wanted }) => wanted.length <= maxLeads) ?? null;
}

/** Conditions on `i` that `where` doesn't know. */
export function addFilters(
  { filters, costNanos, latencyMs, after, order }: Omit<InteractionListQuery, "limit">,
  conditions: string[],
  bind: (value: SqlValue) => string,
): void {
  for (const [column, value] of Object.entries(usual)) {
    const wanted = filters?.[column] ?? [];
    // In the words of the index, which holds the other rows.
    if (wanted.length > 0 && !wanted.includes(value)) {
      conditions.push(`i.${column} <> '${value}'`);
    }
  }
  if (costNanos?.min !== undefined) conditions.push(`i.cost_nanos >= ${bind(costNanos.min)}`);
  if (costNanos?.max !== undefined) conditions.push(`i.cost_nanos <= ${bind(costNanos.max)}`);
  if (latencyMs?.min !== undefined) conditions.push(`i.latency_ms >= ${bind(latencyMs.min)}`);
  if (latencyMs?.max !== undefined) conditions.push(`i.latency_ms <= ${bind(latencyMs.max)}`);
  if (!after) return;
  const beyond = order === "newest" ? "<" : ">";
  const [time, id] = [bind(after.createdAt), bind(after.transactionId)];
  conditions.push(`(i.created_at, i.transaction_id) ${beyond} (${time}, ${id})`);
  // Says the same of time alone, which is what partitions are left out by.
  conditions.push(`i.created_at ${beyond}= ${time}`);
}
