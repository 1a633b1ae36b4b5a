import {
  type InteractionListPage,
  type InteractionPageQuery,
  type SessionCall,
  sessionFields,
} from "../interaction_repository.ts";
import { pushAll } from "../../base/lists.ts";
import { parseUsd } from "../../base/money.ts";
import type {
  InteractionListQuery,
  InteractionPage,
  InteractionSummary,
  ListPosition,
} from "../../shared/interaction.ts";
import type { Queryable, SqlValue } from "../../database/database.ts";
import { columns, readFields, readSummary, selected, selectedColumns } from "../columns.ts";
import { interactionConditions } from "../filter_conditions.ts";
import type { CallKey } from "../analytics_store.ts";
import { readCallKey } from "./calls.ts";
import { fetchByKey } from "./fetch_by_key.ts";
import { addFilters, type IndexedFilter, indexedFilters, maxLookUps } from "./list_conditions.ts";
import { checksCalls, pageWindows, windowsOf } from "./list_windows.ts";

/**
 * Reads one page by keyset pagination. A selective filter is read from an index that has the list's
 * order, so that neither the account's size nor the page number matters. Filters without an index
 * are checked call by call; after so many calls the page ends early.
 */
export async function listInteractions(
  database: Queryable,
  query: InteractionListQuery,
  sizes = pageWindows,
): Promise<InteractionListPage> {
  if (!checksMany(query)) return await readPage(database, query);
  const rows: InteractionSummary[] = [];
  let reached: ListPosition | undefined;
  for await (const window of windowsOf(database, query, sizes)) {
    const limit = query.limit - rows.length;
    const found = window.isEmpty
      ? { rows: [] }
      : await readPage(database, { ...window.query, limit });
    pushAll(rows, found.rows);
    reached = found.next ?? window.next;
    if (reached === undefined) return { rows };
    if (rows.length === query.limit) return { rows, next: reached };
  }
  return { rows, ...(reached && { next: reached, searchedBackTo: reached.createdAt }) };
}

async function readPage(
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

interface ListTotals {
  calls: number;
  costNanos: bigint;
  isAll: boolean;
}

/**
 * Sums over the first rows of a list, at most `query.limit`; `isAll` says whether there are no more.
 * Of filters without an index it checks as many calls as a page.
 */
export async function listTotals(
  database: Queryable,
  query: InteractionListQuery,
): Promise<ListTotals> {
  if (!checksMany(query)) return await readTotals(database, query);
  let [calls, costNanos] = [0, 0n];
  for await (const window of windowsOf(database, query, pageWindows)) {
    if (!window.isEmpty) {
      const found = await readTotals(database, { ...window.query, limit: query.limit - calls });
      calls += found.calls;
      costNanos += found.costNanos;
      if (!found.isAll) break;
    }
    if (window.next === undefined) return { calls, costNanos, isAll: true };
    if (calls === query.limit) break;
  }
  return { calls, costNanos, isAll: false };
}

async function readTotals(
  database: Queryable,
  query: InteractionListQuery,
): Promise<ListTotals> {
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

/** The most rows to read from an index if each value has a whole page. */
const maxIndexRows = 20_000;

/** Whether calls are checked in windows: no index has just what matches, or it would have too much. */
function checksMany(query: InteractionListQuery): boolean {
  return checksCalls(query) ||
    indexedFilters(query.filters).some(({ wanted }) =>
      wanted.length > maxLookUps || wanted.length > 1 && wanted.length * query.limit > maxIndexRows
    );
}

/** The most values with a `select` of their own: to plan twenty for each month takes 0.18 s. */
const maxSelects = 4;

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
  const select = (more: readonly string[], firstBy = "") =>
    `select ${what} from interactions i
     where ${[...conditions, ...more].join(" and ")}
     order by ${firstBy} i.created_at ${direction}, i.transaction_id ${direction} limit ${limit}`;
  // One extra row shows whether there is another page.
  const limit = bind(query.limit + 1);
  if (!indexColumn) return { text: select([]), values };
  // The rows of each value come in the list's order; the rows of several values together would not.
  if (indexColumn.wanted.length > maxSelects) {
    const wanted = bind(indexColumn.wanted);
    // A range and its order leave the planner no other index, which it would read for each value.
    const column = `i.${indexColumn.column}`;
    const ofValue = [`${column} between wanted.value and wanted.value`];
    return {
      text: `select i.* from unnest(${wanted}::text[]) as wanted(value) cross join lateral (
          ${select(ofValue, `${column} ${direction},`)}
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
 * Returns the column whose index is read value by value; null if there is none, if a filter with a
 * single value makes it unnecessary, or if there are too many values.
 */
function chooseIndexColumn({ filters, indexedBy }: InteractionListQuery): IndexedFilter | null {
  const filtered = indexedFilters(filters).filter(({ column }) =>
    indexedBy === undefined || column === indexedBy
  );
  if (filtered.some(({ wanted }) => wanted.length === 1)) return null;
  return filtered.find(({ wanted }) => wanted.length <= maxLookUps) ?? null;
}

/** The most rows to sort; if more match, a scan in order of time finds a page of them soon. */
const maxSorted = 3000;

/** The least and the greatest value of a column that has an index by value. */
interface ValueRange {
  readonly column: "cost_nanos" | "latency_ms";
  readonly min?: bigint | number | undefined;
  readonly max?: bigint | number | undefined;
}

/**
 * Reads one page of a list with a selective cost or latency: finds the rows by that, then sorts
 * them. Undefined without such a filter, or if it matches too many rows: `listInteractions` is
 * faster then.
 */
export async function trySelectiveRange(
  database: Queryable,
  query: InteractionPageQuery,
): Promise<InteractionListPage | undefined> {
  for (const range of rangesOf(query)) {
    const page = await readRange(database, query, range);
    if (page) return page;
  }
  return undefined;
}

function rangesOf({ filters = {}, costNanos, latencyMs }: InteractionPageQuery): ValueRange[] {
  const costs = (filters.cost_usd ?? []).map((usd) =>
    parseUsd(String(usd), 9, { allowNegative: true })
  );
  const latencies = (filters.latency_ms ?? []).map(Number).filter(Number.isSafeInteger);
  const wanted = <Value extends bigint | number>(values: readonly Value[]) => {
    const sorted = values.toSorted((a, b) => a < b ? -1 : a > b ? 1 : 0);
    return sorted.length === 0 ? [] : [{ min: sorted[0], max: sorted.at(-1) }];
  };
  return [
    ...[...wanted(costs), costNanos ?? []].flat().map((range) => ({
      column: "cost_nanos" as const,
      ...range,
    })),
    ...[...wanted(latencies), latencyMs ?? []].flat().map((range) => ({
      column: "latency_ms" as const,
      ...range,
    })),
  ];
}

/**
 * Reads a page from the rows of a range; undefined if these are too many. The other conditions are
 * checked on the rows that were read, which may not be more.
 */
async function readRange(
  database: Queryable,
  query: InteractionPageQuery,
  { column, min, max }: ValueRange,
): Promise<InteractionListPage | undefined> {
  const { conditions, values } = interactionConditions(query);
  const bind = (value: SqlValue) => `$${values.push(value)}`;
  addFilters(query, conditions, bind);
  const direction = query.order === "newest" ? "desc" : "asc";
  const within = [
    "i.account_id = $1",
    ...min === undefined ? [] : [`i.${column} >= ${bind(min)}`],
    ...max === undefined ? [] : [`i.${column} <= ${bind(max)}`],
  ];
  const found = await database.query(
    `with held as materialized (
       select i.* from interactions i where ${within.join(" and ")}
       order by i.${column} limit ${maxSorted + 1}
     )
     select i.transaction_id, i.created_at, total from (select count(*) as total from held) as held
     left join (
       select i.transaction_id, i.created_at from held i where ${conditions.join(" and ")}
     ) as i on total <= ${maxSorted}
     order by i.created_at ${direction}, i.transaction_id ${direction} limit ${
      bind(query.limit + 1)
    }`,
    values,
    { forceCustomPlan: true },
  );
  if (Number(found[0]!.total) > maxSorted) return undefined;
  const keys: CallKey[] = found.filter((row) => row.created_at !== null).map(readCallKey);
  const rows = await fetchByKey(database, query.accountId, keys.slice(0, query.limit));
  const last = keys[query.limit - 1];
  return { rows, ...(keys.length > query.limit && last ? { next: last } : {}) };
}
