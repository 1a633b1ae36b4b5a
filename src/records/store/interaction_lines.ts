import { pushAll } from "../../base/lists.ts";
import { chunks } from "../../database/chunks.ts";
import { type BytesRow, noLockLimit, type Queryable } from "../../database/database.ts";
import type { InteractionQuery } from "../../shared/interaction.ts";
import type { ExportedLines, LineForm, WrittenLines } from "../analytics_store.ts";
import { type Cell, exportedArrays, exportedCells, type ExportedRow } from "../exported_cells.ts";
import { hasDefaultColumns, lineSql } from "./interaction_line_sql.ts";
import {
  heldBytes,
  type PageRows,
  payloadBytesSql,
  readInteractionCells,
  readPages,
  type RowKey,
  type RowPage,
} from "./interactions_read.ts";

/**
 * Reads rows for an export. PostgreSQL, whose processes serve no calls, writes the lines, and they
 * are passed on as the bytes that arrived: as strings, payloads were most of what the garbage
 * collector moved. The embedded database has one thread, which also writes the records of calls, so
 * it returns cells.
 */
export function readInteractionLines(
  database: Queryable,
  query: InteractionQuery,
  form?: LineForm,
): AsyncIterable<readonly ExportedLines[]> {
  return form && database.eachRow
    ? readLines(database, database.eachRow.bind(database), query, form)
    : readInteractionCells(database, query);
}

type EachRow = NonNullable<Queryable["eachRow"]>;

async function* readLines(
  database: Queryable,
  eachRow: EachRow,
  query: InteractionQuery,
  form: LineForm,
): AsyncGenerator<ExportedLines[]> {
  const line = lineSql(form);
  // Callers can choose any set of columns, so there may be many statements, and a session keeps all
  // that it has prepared.
  const options = { forceCustomPlan: !hasDefaultColumns(form), ...noLockLimit };
  const free: Uint8Array<ArrayBuffer>[] = [];
  const pages = readPages(database, query, async (parts, values) => {
    const page = new LinePage(free);
    await eachRow(pageSql(line, parts), values, (row) => page.add(row), options);
    return page.whole();
  });
  const isLater = (item: PageItem): item is LaterRow => "key" in item;
  for await (const { rows: page } of pages) {
    for (const some of chunks(page.items, (item) => isLater(item) ? item.bytes : 0, heldBytes)) {
      const missing = some.filter(isLater);
      const asked = missing.filter(({ isTruncated }) => !isTruncated);
      const lines = new Map<string, WrittenLines>();
      if (asked.length > 0) {
        await eachRow(laterSql(line), keysOf(asked), ([bytes, time, id]) => {
          lines.set(nameOf({ time: textOf(time!), id: textOf(id!) }), { bytes: bytes!, rows: 1 });
        }, options);
      }
      const cells = await cellsOf(database, missing.filter(({ isTruncated }) => isTruncated));
      yield some.flatMap((item): ExportedLines[] => {
        if (!isLater(item)) return [item];
        const found = lines.get(nameOf(item.key)) ?? cells.get(nameOf(item.key));
        // Neither is found if the row was erased in between.
        return found ? [found] : [];
      });
    }
    page.release();
  }
}

/** A row of a page whose line or cells are still to be read. */
interface LaterRow {
  key: RowKey;
  /** The bytes of its payloads. */
  bytes: number;
  isTruncated: boolean;
}

type PageItem = WrittenLines | LaterRow;

/** Lines are gathered in buffers of this many bytes; a longer line has its own. */
const bufferBytes = 128 * 1024;

/**
 * Gathers the lines of a page as its rows arrive, so that the driver's objects for a row become
 * garbage at once, which costs nothing. The buffers live as long as a page is processed: V8 would
 * treat them as old, and mark its whole heap every ten MiB to free them. So they are reused.
 */
class LinePage {
  readonly items: PageItem[] = [];
  readonly #free: Uint8Array<ArrayBuffer>[];
  readonly #used: Uint8Array<ArrayBuffer>[] = [];
  #buffer = new Uint8Array(0);
  #filled = 0;
  #rows = 0;
  #last: BytesRow | undefined;
  #count = 0;
  #bytes = 0;

  /** `free`: buffers of earlier pages of the same export. */
  constructor(free: Uint8Array<ArrayBuffer>[]) {
    this.#free = free;
  }

  add(row: BytesRow): void {
    const [line] = row;
    this.#last = row;
    this.#count++;
    if (line) return this.#addLine(line);
    this.#closeBuffer();
    const missing = readLater(row);
    this.items.push(missing);
    this.#bytes += missing.bytes;
  }

  /** Releases the buffers: the lines are no longer read. */
  release(): void {
    pushAll(this.#free, this.#used.splice(0));
  }

  whole(): RowPage<LinePage> {
    this.#closeBuffer();
    return {
      rows: this,
      count: this.#count,
      payloadBytes: this.#bytes,
      ...(this.#last ? { last: keyOf(this.#last) } : {}),
    };
  }

  #addLine(line: Uint8Array<ArrayBuffer>): void {
    if (this.#filled + line.length > this.#buffer.length) {
      this.#closeBuffer();
      this.#buffer = this.#takeBuffer(line.length);
    }
    this.#buffer.set(line, this.#filled);
    this.#filled += line.length;
    this.#bytes += line.length;
    this.#rows++;
  }

  #takeBuffer(minBytes: number): Uint8Array<ArrayBuffer> {
    if (minBytes > bufferBytes) return new Uint8Array(minBytes);
    const buffer = this.#free.pop() ?? new Uint8Array(bufferBytes);
    this.#used.push(buffer);
    return buffer;
  }

  /** Makes the lines so far an item; the rest of the buffer takes the next ones. */
  #closeBuffer(): void {
    if (this.#rows === 0) return;
    this.items.push({ bytes: this.#buffer.subarray(0, this.#filled), rows: this.#rows });
    this.#buffer = this.#buffer.subarray(this.#filled);
    this.#filled = 0;
    this.#rows = 0;
  }
}

/**
 * Selects a page of lines. A line is null where it comes later: if its payloads are large, or may
 * be truncated, since only a JSON parser can tell whether a truncated payload still is JSON. The
 * `|| ''` decompresses a payload once for all its uses.
 */
function pageSql(line: string, { selected, inlineBytes }: PageRows): string {
  const key = "i.created_at::text, i.transaction_id";
  if (inlineBytes === undefined) {
    return `select ${line}, ${key}, 0, null from (${selected}) as i
      order by i.created_at, i.transaction_id`;
  }
  const whenNow = (text: string) =>
    `case when not i.payload_truncated and p.bytes <= ${inlineBytes} then p.${text} || '' end`;
  return `select case when p.is_later then null else ${line} end, ${key},
      case when p.is_later then p.bytes end, case when p.is_later then i.payload_truncated end
    from (${selected}) as i
    left join lateral (
      select p.bytes, i.payload_truncated or p.bytes > ${inlineBytes} as is_later,
        ${whenNow("request")} as request, ${whenNow("response")} as response
      from (
        select p.request, p.response, ${payloadBytesSql} as bytes
        from interaction_payloads p
        where p.transaction_id = i.transaction_id and p.created_at = i.created_at offset 0
      ) as p offset 0
    ) as p on true
    order by i.created_at, i.transaction_id`;
}

function laterSql(selected: string): string {
  return `select ${selected}, i.created_at::text as row_time, i.transaction_id as row_id
    from unnest($1::text[], $2::timestamptz[]) as wanted(transaction_id, created_at)
    cross join lateral (
      select * from interactions i
      where i.transaction_id = wanted.transaction_id and i.created_at = wanted.created_at offset 0
    ) as i
    left join lateral (
      select p.request || '' as request, p.response || '' as response
      from interaction_payloads p
      where p.transaction_id = wanted.transaction_id and p.created_at = wanted.created_at offset 0
    ) as p on true`;
}

async function cellsOf(
  database: Queryable,
  rows: readonly LaterRow[],
): Promise<Map<string, readonly Cell[]>> {
  if (rows.length === 0) return new Map();
  const selected = `${exportedArrays}, p.request, p.response`;
  const found = await database.query(laterSql(selected), keysOf(rows), noLockLimit);
  return new Map(found.map((row) => [
    nameOf({ time: String(row.row_time), id: String(row.row_id) }),
    exportedCells(row as unknown as ExportedRow),
  ]));
}

function keysOf(rows: readonly LaterRow[]): string[][] {
  return [rows.map(({ key }) => key.id), rows.map(({ key }) => key.time)];
}

function keyOf([, time, id]: BytesRow): RowKey {
  return { time: textOf(time!), id: textOf(id!) };
}

function readLater(row: BytesRow): LaterRow {
  const [, , , bytes, isTruncated] = row;
  return {
    key: keyOf(row),
    bytes: Number(textOf(bytes!)),
    isTruncated: textOf(isTruncated!) === "t",
  };
}

function nameOf({ time, id }: RowKey): string {
  return `${time} ${id}`;
}

const decoder = new TextDecoder();

function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}
