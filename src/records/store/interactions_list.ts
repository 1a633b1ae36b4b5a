import {
  type InteractionListPage,
  type InteractionPageQuery,
  type SessionCall,
  sessionFields,
} from "../interaction_repository.ts";
import type { InteractionListQuery, InteractionPage } from "../../shared/interaction.ts";
import type { Queryable, SqlValue } from "../../database/database.ts";
import {
  type ColumnName,
  columns,
  readFields,
  readSummary,
  selected,
  selectedColumns,
} from "../columns.ts";
import { interactionConditions, wantedTexts } from "../filter_conditions.ts";
import type { CallKey } from "../analytics_store.ts";
import { readCallKey } from "./calls.ts";
import { fetchByKey } from "./fetch_by_key.ts";

/**
 * Reads one page by keyset pagination. A selective filter is read from an index that has the list's
 * order, so that neither the account's size nor the page number matters.
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

/** Sums over the first rows of a list, at most `query.limit`; `isAll` says whether there are no more. */
export async function listTotals(
  database: Queryable,
  query: InteractionListQuery,
): Promise<{ calls: number; costNanos: bigint; isAll: boolean }> {
  // Only these columns: thousands of rows would carry the other forty along.
  const { text, values } = pageSql(query, "i.cost_nanos, i.created_at, i.transaction_id");
  const limit = `$${values.push(query.limit)}`;
  const direction = query.order === "newest" ? "desc" : "asc";
  const [row] = await database.query(
    `select count(*) as calls, coalesce(sum(cost_nanos) filter (where place <= ${limit}), 0) as cost
     from (
       select cost_nanos,
         row_number() over (order by created_at ${direction}, transaction_id ${direction}) as place
       from (${text}) as listed
     ) as numbered`,
    values,
    { forceCustomPlan: true },
  );
  const calls = Number(row!.calls);
  return {
    calls: Math.min(calls, query.limit),
    costNanos: BigInt(String(row!.cost)),
    isAll: calls <= query.limit,
  };
}

/**
 * Reads the first calls of a session, without the thirty columns that a page of a thousand calls
 * doesn't need.
 */
export async function listSessionCalls(
  database: Queryable,
  accountId: number,
  sessionId: string,
  limit: number,
): Promise<{ calls: SessionCall[]; isAll: boolean }> {
  const { text, values } = pageSql({
    accountId,
    filters: { session_id: [sessionId] },
    order: "oldest",
    limit,
  }, selected(sessionColumns));
  const rows = await database.query(text, values, { forceCustomPlan: true });
  const calls = rows.slice(0, limit).map((row) => readFields(row, sessionColumns) as SessionCall);
  return { calls, isAll: rows.length <= limit };
}

const sessionColumns = columns.filter(({ field }) => sessionFields.some((one) => one === field));

/** Columns that have an index, the most selective first. */
const indexed: readonly ColumnName[] = [
  "request_id",
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

/** The most common value of a column, which its partial index leaves out. */
const unindexedDefaults: Partial<Record<ColumnName, string>> = {
  status: "completed",
  mode: "managed",
};

/** The most values of one column that have a `select` each: planning takes time for each. */
const maxSelects = 20;
/** The most rows to read from an index if each value has a whole page. */
const maxIndexRows = 20_000;

function pageSql(
  query: InteractionListQuery,
  what = selectedColumns,
): { text: string; values: SqlValue[] } {
  const indexColumn = chooseIndexColumn(query);
  const filters = Object.entries(query.filters ?? {}).filter(([column]) =>
    column !== indexColumn?.column
  );
  const { conditions, values } = interactionConditions({
    ...query,
    filters: Object.fromEntries(filters),
  });
  // Few calls share a request id, and its index isn't in the list's order: the planner must not
  // prefer another index.
  if (query.filters?.request_id !== undefined) conditions[0] = byAccountAlone;
  const bind = (value: SqlValue) => `$${values.push(value)}`;
  addFilters(query, conditions, bind);
  const direction = query.order === "newest" ? "desc" : "asc";
  const select = (more: readonly string[]) =>
    `select ${what} from interactions i
     where ${[...conditions, ...more].join(" and ")}
     order by i.created_at ${direction}, i.transaction_id ${direction} limit ${limit}`;
  // One extra row shows whether there is another page.
  const limit = bind(query.limit + 1);
  if (!indexColumn) return { text: select([]), values };
  // The rows of each value come in the list's order; the rows of several values together would not.
  if (indexColumn.wanted.length > maxSelects) {
    const wanted = bind(indexColumn.wanted);
    return {
      text: `select i.* from unnest(${wanted}::text[]) as wanted(value) cross join lateral (
          ${select([`i.${indexColumn.column} = wanted.value`])}
        ) as i order by created_at ${direction}, transaction_id ${direction} limit ${limit}`,
      values,
    };
  }
  const each = indexColumn.wanted.map((value) =>
    `(${select([`i.${indexColumn.column} = ${bind(value)}`])})`
  );
  return {
    text: `${each.join(" union all ")}
      order by created_at ${direction}, transaction_id ${direction} limit ${limit}`,
    values,
  };
}

/** The first condition of `interactionConditions`, in a form that no index serves. */
const byAccountAlone = "i.account_id + 0 = $1::bigint";

/**
 * Returns the column whose index is read value by value; null if there is none, or if a filter with
 * a single value makes it unnecessary.
 */
function chooseIndexColumn(
  { filters, limit }: InteractionListQuery,
): { column: ColumnName; wanted: string[] } | null {
  const filtered = indexed.flatMap((column) => {
    const wanted = wantedTexts(column, filters?.[column] ?? []);
    return wanted.length === 0 || wanted.includes(unindexedDefaults[column] ?? "")
      ? []
      : [{ column, wanted }];
  });
  if (filtered.some(({ wanted }) => wanted.length === 1)) return null;
  return filtered.find(({ wanted }) =>
    wanted.length <= Math.max(maxSelects, maxIndexRows / limit)
  ) ?? null;
}

/** Adds the conditions on `i` that `interactionConditions` lacks: ranges, and the page's start. */
export function addFilters(
  { filters, costNanos, latencyMs, after, order }: Omit<InteractionListQuery, "limit">,
  conditions: string[],
  bind: (value: SqlValue) => string,
): void {
  for (const [column, value] of Object.entries(unindexedDefaults)) {
    const wanted = filters?.[column] ?? [];
    // The same expression as in the partial index.
    if (wanted.length > 0 && !wanted.includes(value)) conditions.push(`i.${column} <> '${value}'`);
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

/** The most rows to sort; if more match, a scan in order of time finds a page of them soon. */
const maxSorted = 3000;

/**
 * Reads one page of a list with a selective range of cost or latency: finds the rows by the range,
 * then sorts them. Undefined without a range, or if it matches too many rows: `listInteractions` is
 * faster then.
 */
export async function trySelectiveRange(
  database: Queryable,
  query: InteractionPageQuery,
): Promise<InteractionListPage | undefined> {
  if (query.costNanos === undefined && query.latencyMs === undefined) return undefined;
  const { conditions, values } = interactionConditions(query);
  const bind = (value: SqlValue) => `$${values.push(value)}`;
  addFilters(query, conditions, bind);
  const direction = query.order === "newest" ? "desc" : "asc";
  const found = await database.query(
    `with found as materialized (
       select i.transaction_id, i.created_at from interactions i
       where ${conditions.join(" and ")} limit ${maxSorted + 1}
     )
     select transaction_id, created_at, (select count(*) from found) as total from found
     order by created_at ${direction}, transaction_id ${direction} limit ${bind(query.limit + 1)}`,
    values,
    { forceCustomPlan: true },
  );
  if (Number(found[0]?.total ?? 0) > maxSorted) return undefined;
  const keys: CallKey[] = found.map(readCallKey);
  const rows = await fetchByKey(database, query.accountId, keys.slice(0, query.limit));
  const last = keys[query.limit - 1];
  return { rows, ...(keys.length > query.limit && last ? { next: last } : {}) };
}
