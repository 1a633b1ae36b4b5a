import type { Interaction, InteractionQuery } from "../../shared/interaction.ts";
import {
  noLockLimit,
  type Queryable,
  type SqlRow,
  type SqlValue,
} from "../../database/database.ts";
import { readSummary, selectedColumns } from "../columns.ts";
import { type Cell, exportedArrays, exportedCells, type ExportedRow } from "../exported_cells.ts";
import { chunks } from "../../database/chunks.ts";
import { snapshotConditions } from "../../database/snapshot.ts";
import { indexedFilters } from "./list_conditions.ts";
import { allWindows, checksCalls, type Window, windowsOf } from "./list_windows.ts";
import { selectCalls, type SelectedCalls, selectedCalls } from "./selected_calls.ts";

/** Bytes of payloads that one query may return; a single row's payloads may exceed it. */
export const heldBytes = 4 * 1024 * 1024;
/** Bytes of payloads that become cells at once: to quote a truncated one takes 20 ms per MiB. */
const cellBytes = 512 * 1024;
/** Rows of a page: of the first page, and the bounds for later ones. */
const firstRows = 500;
const minRows = 100;
const maxRows = 1000;

/**
 * Reads rows oldest first, in pages by keyset. Memory holds at most two pages of rows with small
 * payloads, and large payloads up to `heldBytes`.
 */
export async function* readInteractions(
  database: Queryable,
  query: InteractionQuery,
): AsyncGenerator<Interaction> {
  for await (const rows of readWhole(database, query, selectedColumns)) {
    for (const row of rows) yield readRow(row);
  }
}

/**
 * Reads the same rows as cells of an export, several at a time: the database writes their texts.
 */
export async function* readInteractionCells(
  database: Queryable,
  query: InteractionQuery,
): AsyncGenerator<Cell[][]> {
  for await (const rows of readWhole(database, query, exportedArrays)) {
    for (const some of chunks(rows, payloadBytes, cellBytes)) {
      yield some.map((row) => exportedCells(row as unknown as ExportedRow));
    }
  }
}

/** Reads rows of `selected`, with `request` and `response`. */
async function* readWhole(
  database: Queryable,
  query: InteractionQuery,
  selected: string,
): AsyncGenerator<SqlRow[]> {
  const pages = readPages(database, query, async (parts, values) => {
    const rows = await database.query(pageSql(selected, parts), values, noLockLimit);
    const last = rows.at(-1);
    return {
      rows,
      count: rows.length,
      payloadBytes: rows.reduce((sum, row) => sum + payloadBytes(row), 0),
      ...(last ? { last: { time: String(last.row_time), id: String(last.row_id) } } : {}),
    };
  });
  for await (const { rows, inlineBytes } of pages) {
    const bytesLater = (row: SqlRow) => payloadBytes(row) > inlineBytes ? payloadBytes(row) : 0;
    for (const some of chunks(rows, bytesLater, heldBytes)) {
      await addPayloads(database, some.filter((row) => bytesLater(row) > 0));
      yield some;
    }
  }
}

/** The key of a row. Its time is text, since it may have more digits than a Date holds. */
export interface RowKey {
  time: string;
  id: string;
}

/** Which rows a page has, as parts of a statement. */
export interface PageRows {
  /** Selects the rows of `interactions`, in order. */
  selected: string;
  /** Payloads up to this many bytes come with their row; absent: the page has none at all. */
  inlineBytes?: string;
}

/** A page of rows, and the key after which the next page begins. */
export interface RowPage<Rows> {
  rows: Rows;
  count: number;
  /** The approximate number of bytes of the page's payloads. */
  payloadBytes: number;
  /** The key of the last row; absent: the page has no rows. */
  last?: RowKey;
}

/**
 * Yields pages of rows, oldest first, and asks for each page while the one before it is processed.
 * Planning a page takes as long as reading hundreds of rows, so pages are long where payloads are
 * short. A page includes the payloads that don't exceed an even share of `heldBytes` per row.
 */
export async function* readPages<Rows>(
  database: Queryable,
  query: InteractionQuery,
  ask: (rows: PageRows, values: readonly SqlValue[]) => Promise<RowPage<Rows>>,
): AsyncGenerator<{ rows: Rows; inlineBytes: number }> {
  let size = firstRows;
  for await (const window of readWindows(database, query)) {
    if (window.isEmpty) continue;
    const askPage = pageReader(window.query, ask);
    for (let next: Promise<RowPage<Rows>> | undefined = askPage(size); next;) {
      const page: RowPage<Rows> = await next;
      const inlineBytes = inlineOf(size);
      const isLast = page.count < size;
      if (page.count > 0) size = sizeAfter(page);
      next = isLast ? undefined : askPage(size, page.last);
      yield { rows: page.rows, inlineBytes };
    }
  }
}

/**
 * Filters without an index, or with several values, are checked on so many calls at a time, as in
 * lists.
 */
async function* readWindows(
  database: Queryable,
  query: InteractionQuery,
): AsyncGenerator<Window<InteractionQuery>> {
  const hasSeveral = indexedFilters(query.filters).some(({ wanted }) => wanted.length > 1);
  if (hasSeveral || checksCalls(query)) {
    yield* windowsOf(database, query, allWindows(), noLockLimit);
  } else yield { query, isEmpty: false };
}

function pageReader<Rows>(
  query: InteractionQuery,
  ask: (rows: PageRows, values: readonly SqlValue[]) => Promise<RowPage<Rows>>,
): (size: number, after?: RowKey) => Promise<RowPage<Rows>> {
  const { conditions, values, lookedUp } = readConditions(query);
  return (size, after) => {
    const bound = [...values];
    const bind = (value: SqlValue) => `$${bound.push(value)}`;
    const all = [...conditions];
    if (after) {
      const time = `${bind(after.time)}::text::timestamptz`;
      all.push(`(i.created_at, i.transaction_id) > (${time}, ${bind(after.id)})`);
      // Redundant, but a condition on time alone lets the planner skip partitions.
      all.push(`i.created_at >= ${time}`);
    }
    const first = { direction: "asc", limit: `${bind(size)}::bigint` } as const;
    const calls = { conditions: all, values: bound, lookedUp };
    const rows: PageRows = { selected: selectCalls("i.*", calls, first) };
    if (!query.withoutPayloads) rows.inlineBytes = `${bind(inlineOf(size))}::bigint`;
    const page = ask(rows, bound);
    // A reader that stops early never awaits this page.
    page.catch(() => {});
    return page;
  };
}

function inlineOf(size: number): number {
  return Math.floor(heldBytes / size);
}

/**
 * Returns a page size at which most payloads come with their rows, if they are like the last
 * page's.
 */
function sizeAfter({ count, payloadBytes }: RowPage<unknown>): number {
  const fitting = heldBytes * count / (2 * Math.max(1, payloadBytes));
  return Math.floor(Math.min(maxRows, Math.max(minRows, fitting)));
}

/**
 * Selects a page of rows, then their payloads with one lookup for each. In a plain join the
 * planner, without statistics, scans all payloads for each page; `offset 0` prevents that.
 */
function pageSql(what: string, { selected, inlineBytes }: PageRows): string {
  const key = "i.created_at::text as row_time, i.transaction_id as row_id";
  if (inlineBytes === undefined) {
    return `select ${what}, ${key}, 0 as payload_bytes, null as request, null as response
      from (${selected}) as i order by i.created_at, i.transaction_id`;
  }
  const whenSmall = (text: string) => `case when p.bytes <= ${inlineBytes} then p.${text} end`;
  return `select ${what}, ${key}, coalesce(p.bytes, 0) as payload_bytes,
      ${whenSmall("request")} as request, ${whenSmall("response")} as response
    from (${selected}) as i
    left join lateral (
      select p.request, p.response, ${payloadBytesSql} as bytes
      from interaction_payloads p
      where p.transaction_id = i.transaction_id and p.created_at = i.created_at offset 0
    ) as p on true
    order by i.created_at, i.transaction_id`;
}

/** Reads no payload: the length is stored with the value. */
export const payloadBytesSql =
  "coalesce(octet_length(p.request), 0) + coalesce(octet_length(p.response), 0)";

/** Counts the rows that `readInteractions` would return. */
export async function countInteractions(
  database: Queryable,
  query: InteractionQuery,
): Promise<number> {
  let count = 0;
  for await (const window of readWindows(database, query)) {
    if (window.isEmpty) continue;
    const calls = readConditions(window.query);
    const [row] = await database.query(
      selectCalls("count(*) as rows", calls),
      calls.values,
      { forceCustomPlan: true },
    );
    count += Number(row!.rows);
  }
  return count;
}

/**
 * Returns a scalar subquery on the row's payloads; null if they are gone. Not a join: without
 * statistics the planner would scan all payloads for each page.
 */
function ofPayload(expression: string): string {
  return `select ${expression} from interaction_payloads p
    where p.transaction_id = i.transaction_id and p.created_at = i.created_at`;
}

function readConditions(query: InteractionQuery): SelectedCalls {
  const selected = selectedCalls(query);
  if (query.snapshot === undefined) return selected;
  const { conditions, values } = selected;
  const was = snapshotConditions(query.snapshot, (value) => `$${values.push(value)}`);
  // Repricing updates a call's row but not its payloads, so these tell when it was written. If they
  // are gone, the call is old.
  const payloadsWere = `coalesce((${ofPayload(was.written("p"))}), true)`;
  conditions.push(`(${was.old("i.created_at")} or ${was.written("i")} or ${payloadsWere})`);
  return selected;
}

/** Sets the payloads of rows that came without them. */
async function addPayloads(database: Queryable, larger: readonly SqlRow[]): Promise<void> {
  if (larger.length === 0) return;
  const found = await database.query(
    `select p.transaction_id as row_id, p.created_at::text as row_time, p.request, p.response
     from unnest($1::text[], $2::timestamptz[]) as wanted(transaction_id, created_at)
     cross join lateral (
       select * from interaction_payloads p
       where p.transaction_id = wanted.transaction_id and p.created_at = wanted.created_at
     ) as p`,
    [larger.map((row) => String(row.row_id)), larger.map((row) => String(row.row_time))],
  );
  const byKey = new Map(found.map((payload) => [keyOf(payload), payload]));
  for (const row of larger) Object.assign(row, payloadsOf(byKey.get(keyOf(row)) ?? {}));
}

function payloadBytes(row: SqlRow): number {
  return Number(row.payload_bytes);
}

function keyOf(row: SqlRow): string {
  return `${row.row_time} ${row.row_id}`;
}

function payloadsOf(row: SqlRow): { request: string | null; response: string | null } {
  return {
    request: (row.request ?? null) as string | null,
    response: (row.response ?? null) as string | null,
  };
}

function readRow(row: SqlRow): Interaction {
  const { request, response } = payloadsOf(row);
  return { ...readSummary(row), requestText: request, responseText: response };
}
