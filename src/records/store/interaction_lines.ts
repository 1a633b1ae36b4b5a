import { chunks } from "../../database/chunks.ts";
import type { BytesRow, Queryable, SqlValue } from "../../database/database.ts";
import type { InteractionQuery } from "../../shared/interaction.ts";
import type { ExportedLine, LineForm } from "../analytics_store.ts";
import { type Cell, exportedArrays, exportedCells, type ExportedRow } from "../columns.ts";
import { hasUsualColumns, lineSql } from "./interaction_line_sql.ts";
import {
  heldBytes,
  type PageRows,
  payloadBytesSql,
  readInteractionCells,
  readPages,
  type RowKey,
} from "./interactions_read.ts";

/**
 * Rows for an export. PostgreSQL writes the lines, and they go on as the bytes that they came as:
 * as strings, payloads were most of what the garbage collector moved. Its own is more than one
 * process, and none of them serves calls. The embedded database, whose one thread also writes the
 * records of calls, gives cells.
 */
export function readInteractionLines(
  database: Queryable,
  query: InteractionQuery,
  form?: LineForm,
): AsyncIterable<readonly ExportedLine[]> {
  return form && database.queryBytes
    ? readLines(database, database.queryBytes.bind(database), query, form)
    : readInteractionCells(database, query);
}

async function* readLines(
  database: Queryable,
  queryBytes: NonNullable<Queryable["queryBytes"]>,
  query: InteractionQuery,
  form: LineForm,
): AsyncGenerator<ExportedLine[]> {
  const line = lineSql(form);
  // Statements of chosen columns are as many as callers like, and a session keeps what it prepares.
  const options = { forceCustomPlan: !hasUsualColumns(form) };
  const pages = readPages<BytesRow>(query, {
    ask: (rows, values) => queryBytes(pageSql(line, rows), values, options),
    cursorOf: keyOf,
    bytesOf: (row) => row[0]?.length ?? laterBytes(row),
  });
  for await (const { rows } of pages) {
    for (const some of chunks(rows, laterBytes, heldBytes)) {
      const later = some.filter((row) => row[0] === null);
      const isCut = (row: BytesRow) => textOf(row[4]!) === "t";
      const lines = await linesOf(
        (values) => queryBytes(laterSql(line), values, options),
        later.filter((row) => !isCut(row)),
      );
      const cells = await cellsOf(database, later.filter(isCut));
      yield some.flatMap((row): ExportedLine[] => {
        if (row[0]) return [row[0]];
        const name = nameOf(keyOf(row));
        const found = lines.get(name) ?? cells.get(name);
        // It was erased in between.
        return found ? [found] : [];
      });
    }
  }
}

/**
 * A page of lines; null where they come later: payloads that are large, and those that may be cut
 * in the middle, of which JSON's parser has to judge whether they still are JSON. `|| ''` unpacks a
 * payload once for all that looks at it.
 */
function pageSql(line: string, { conditions, size, inlineBytes }: PageRows): string {
  const key = "i.created_at::text, i.transaction_id";
  if (inlineBytes === undefined) {
    return `select ${line}, ${key}, 0, null from interactions i where ${conditions}
      order by i.created_at, i.transaction_id limit ${size}`;
  }
  const whenNow = (text: string) =>
    `case when not i.payload_truncated and p.bytes <= ${inlineBytes} then p.${text} || '' end`;
  return `select case when p.is_later then null else ${line} end, ${key},
      case when p.is_later then p.bytes end, case when p.is_later then i.payload_truncated end
    from (
      select * from interactions i where ${conditions}
      order by i.created_at, i.transaction_id limit ${size}
    ) as i
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

async function linesOf(
  ask: (values: SqlValue[]) => Promise<BytesRow[]>,
  rows: readonly BytesRow[],
): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  if (rows.length === 0) return new Map();
  const found = await ask(keysOf(rows));
  return new Map(found.map((row) => [nameOf(keyOf(row)), row[0]!]));
}

async function cellsOf(
  database: Queryable,
  rows: readonly BytesRow[],
): Promise<Map<string, readonly Cell[]>> {
  if (rows.length === 0) return new Map();
  const selected = `${exportedArrays}, p.request, p.response`;
  const found = await database.query(laterSql(selected), keysOf(rows));
  return new Map(found.map((row) => [
    nameOf({ time: String(row.row_time), id: String(row.row_id) }),
    exportedCells(row as unknown as ExportedRow),
  ]));
}

function keysOf(rows: readonly BytesRow[]): string[][] {
  const keys = rows.map(keyOf);
  return [keys.map(({ id }) => id), keys.map(({ time }) => time)];
}

function keyOf([, time, id]: BytesRow): RowKey {
  return { time: textOf(time!), id: textOf(id!) };
}

function nameOf({ time, id }: RowKey): string {
  return `${time} ${id}`;
}

/** Bytes of payloads that are still to be read. */
function laterBytes(row: BytesRow): number {
  return row[0] ? 0 : Number(textOf(row[3]!));
}

const decoder = new TextDecoder();

function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}
