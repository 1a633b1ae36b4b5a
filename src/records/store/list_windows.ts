import { pushAll } from "../../base/lists.ts";
import type {
  InteractionListQuery,
  InteractionQuery,
  ListPosition,
} from "../../shared/interaction.ts";
import type { Queryable, QueryOptions, SqlValue } from "../../database/database.ts";
import { type ColumnName, fieldOfColumn } from "../columns.ts";
import { interactionConditions } from "../filter_conditions.ts";
import {
  addFilters,
  type IndexedFilter,
  indexedFilters,
  maxLookUps,
  partialIndexCondition,
} from "./list_conditions.ts";

type Filters = InteractionQuery["filters"];

/** Columns of which few calls share a value. */
const nearlyUnique: readonly ColumnName[] = ["request_id", "transaction_id", "created_at"];

/** Whether no single index has just the calls that match, so that others are read, too. */
export function checksCalls(
  { filters = {}, costNanos, latencyMs }: Pick<
    InteractionListQuery,
    "filters" | "costNanos" | "latencyMs"
  >,
): boolean {
  if (findsFew(filters)) return false;
  const columns = Object.keys(filters);
  return costNanos !== undefined || latencyMs !== undefined || columns.length > 1 ||
    indexedFilters(filters).length < columns.length;
}

/** Whether at most a few calls match: of a column that only other tables have, none. */
function findsFew(filters: Filters = {}): boolean {
  return nearlyUnique.some((column) => filters[column] !== undefined) ||
    Object.keys(filters).some((column) => !Object.hasOwn(fieldOfColumn, column));
}

const longWindow = 20_000;

/**
 * How many calls the statements of a page check: few first, since most filters match many calls. The
 * embedded database does nothing else meanwhile, so many calls take several statements.
 */
export const pageWindows: readonly number[] = [1_000, 5_000, ...Array(8).fill(longWindow)];

/** The same for reads of all that matches. */
export function* allWindows(): Generator<number> {
  yield* pageWindows;
  for (;;) yield longWindow;
}

/** Selects calls in the order of a list; default: oldest first. */
type WindowQuery = Partial<InteractionListQuery> & Pick<InteractionQuery, "accountId">;

/** A query for the calls of one window. */
export interface Window<Query> {
  readonly query: Query;
  /** No call matches. */
  readonly isEmpty: boolean;
  /** Where the next window begins; absent in the last. */
  readonly next?: ListPosition;
}

/**
 * Divides a query into windows of so many calls, in the order of its list. Ends early if there are
 * no more sizes.
 */
export async function* windowsOf<Query extends WindowQuery>(
  database: Queryable,
  query: Query,
  sizes: Iterable<number>,
  options: QueryOptions = {},
): AsyncGenerator<Window<Query>> {
  if (findsFew(query.filters)) return yield { query, isEmpty: false };
  const [bound, others] = query.order === "newest" ? ["start", "end"] : ["end", "start"];
  const byIndex: readonly Checking[] = indexedFilters(query.filters).filter(({ wanted }) =>
    wanted.length <= maxLookUps
  );
  let chosen = byIndex;
  let rest = query;
  let nth = 0;
  for (const size of sizes) {
    nth++;
    if (nth % chosenAfter === 0 && hasSeveralValues(byIndex)) chosen = [...byIndex, undefined];
    const { end, isEmpty, filter } = await checkFurthest(database, rest, size, chosen, options);
    chosen = [filter];
    // The planner, without statistics of labels, may prefer the index of a frequent value.
    const window = { ...rest, ...(filter && { indexedBy: filter.column }) };
    if (end === undefined) return yield { query: window, isEmpty };
    yield {
      ...{ query: { ...window, [bound]: end }, isEmpty },
      next: { createdAt: end, transactionId: beforeAll },
    };
    rest = { ...rest, [others]: end };
  }
}

/** How a window's calls are checked: by the index of a filter, or undefined: in order of time. */
type Checking = IndexedFilter | undefined;

/**
 * One of several values may be so frequent that some calls of each reach less far than all calls do.
 * This is looked at again after so many windows, since values become frequent or rare.
 */
const chosenAfter = 4;

function hasSeveralValues(filters: readonly Checking[]): boolean {
  return filters.every((filter) => filter !== undefined && filter.wanted.length > 1);
}

interface Checked {
  /** None of the calls matches. */
  readonly isEmpty: boolean;
  /** The time at which they end (newest first: begin); undefined if there are no more. */
  readonly end?: Date;
  /** The filter whose index returned them. */
  readonly filter?: Checking;
}

/** Checks the next calls by each index, or in order of time; returns the check that reached furthest. */
async function checkFurthest(
  database: Queryable,
  query: WindowQuery,
  size: number,
  [first, ...others]: readonly Checking[],
  options: QueryOptions,
): Promise<Checked> {
  let furthest = await checkCalls(database, query, size, first, options);
  for (const other of others) {
    if (furthest.end === undefined) break;
    const checked = await checkCalls(database, query, size, other, options);
    const isFurther = checked.end === undefined ||
      (query.order === "newest" ? checked.end < furthest.end : checked.end > furthest.end);
    if (isFurther) furthest = checked;
  }
  return furthest;
}

/** Checks the next calls of a list, of those that an index returns for one of its filters, if any. */
async function checkCalls(
  database: Queryable,
  query: WindowQuery,
  size: number,
  filter: Checking,
  options: QueryOptions,
): Promise<Checked> {
  const { start, end, order, after } = query;
  const isNewest = order === "newest";
  const direction = isNewest ? "desc" : "asc";
  const { conditions, values } = interactionConditions(query);
  const bind = (value: SqlValue) => `$${values.push(value)}`;
  addFilters({ order: "oldest", ...query }, conditions, bind);
  const from = ["i.account_id = $1"];
  if (start) from.push(`i.created_at >= ${bind(start)}`);
  if (end) from.push(`i.created_at < ${bind(end)}`);
  const upTo = after?.transactionId === beforeAll ? "<" : "<=";
  if (after) from.push(`i.created_at ${isNewest ? upTo : ">="} ${bind(after.createdAt)}`);
  // The calls of a value lie further apart.
  const limit = filter ? Math.ceil(size / 4 / filter.wanted.length) : size;
  const check = (orderBy: string) =>
    `select count(*) as calls, bool_or((${conditions.join(" and ")}) is true) as matches,
       ${isNewest ? "min" : "max"}(i.created_at) as at
     from (
       select i.* from interactions i where ${from.join(" and ")}
       order by ${orderBy} limit ${bind(limit)}
     ) as i`;
  let checks: string;
  if (filter) {
    // A range and its order leave the planner no other index.
    const column = `i.${filter.column}`;
    from.push(`${column} between wanted.value and wanted.value`);
    pushAll(from, partialIndexCondition(filter.column));
    checks = `unnest(${bind(filter.wanted)}::text[]) as wanted(value) cross join lateral (${
      check(`${column} ${direction}, i.created_at ${direction}`)
    })`;
  } else {
    checks = `(${check(`i.created_at ${direction}, i.transaction_id ${direction}`)})`;
  }
  const [row] = await database.query(
    `select coalesce(bool_or(matches), false) as matches,
       ${isNewest ? "max" : "min"}(at) filter (where calls = ${bind(limit)}) as at
     from ${checks} as checked`,
    values,
    { forceCustomPlan: true, ...options },
  );
  const isEmpty = row!.matches === false;
  const at = row!.at as Date | null;
  if (at === null) return { isEmpty, filter };
  // Other calls of the last one's time may not have been checked: they are in the next window, unless
  // this one would be empty.
  const beyond = new Date(at.getTime() + 1);
  const [bound, other] = isNewest ? [beyond, at] : [at, beyond];
  return isWithin(bound, query)
    ? { end: bound, isEmpty, filter }
    : { end: other, isEmpty: false, filter };
}

/** Whether a window that ends at a time has room for calls. */
function isWithin(at: Date, { start, end, order, after }: WindowQuery): boolean {
  if (order === "newest") {
    // No call of the cursor's own time is left behind an id that sorts before all.
    const isFurther = !after || at < after.createdAt ||
      (after.transactionId !== beforeAll && at.getTime() === after.createdAt.getTime());
    return (!end || at < end) && isFurther;
  }
  return (!start || at > start) && (!after || at > after.createdAt);
}

/** Sorts before every id. */
export const beforeAll = "";
