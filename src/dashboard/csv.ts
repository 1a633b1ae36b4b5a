import { chunksOf } from "../base/lists.ts";
import { nanosToUsd } from "../base/money.ts";
import { callerUnreadTimeout, pulledStream } from "../base/pulled_stream.ts";
import { exportMediaType } from "../exports/export_spec.ts";
import { csvCell } from "../exports/row_writers.ts";

/**
 * A cell. Texts are escaped so that no spreadsheet reads them as formulas; `nanos` are written as
 * US dollars, times in UTC.
 */
export type CsvCell = string | number | bigint | boolean | Date | { nanos: bigint } | null;

export type CsvColumns<Row> = Readonly<Record<string, (row: Row) => CsvCell>>;

/**
 * Answers with a table as a CSV download (RFC 4180, lines end with CRLF). Rows that come in pages
 * are written as they are read.
 */
export function csvFile<Row>(
  name: string,
  columns: CsvColumns<Row>,
  rows: readonly Row[] | AsyncIterable<readonly Row[]>,
): Response {
  const pages = Symbol.asyncIterator in rows ? rows : [rows];
  return new Response(pulledStream(linesOf(columns, pages), callerUnreadTimeout), {
    headers: {
      "content-type": exportMediaType("csv"),
      "content-disposition": `attachment; filename="${name}.csv"`,
      "cache-control": "no-store",
    },
  });
}

/** Lines that are made in one turn of the event loop, which calls wait for. */
const linesAtOnce = 1_000;

async function* linesOf<Row>(
  columns: CsvColumns<Row>,
  pages: Iterable<readonly Row[]> | AsyncIterable<readonly Row[]>,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  yield encoder.encode(`${Object.keys(columns).join(",")}\r\n`);
  const cells = Object.values(columns);
  for await (const rows of pages) {
    for (const some of chunksOf(rows, linesAtOnce)) {
      const lines = some.map((row) => `${cells.map((cell) => cellText(cell(row))).join(",")}\r\n`);
      yield encoder.encode(lines.join(""));
    }
  }
}

function cellText(cell: CsvCell): string {
  if (cell === null || typeof cell === "string") return csvCell(cell, "text", false);
  if (cell instanceof Date) return cell.toISOString();
  return typeof cell === "object" ? nanosToUsd(cell.nanos) : String(cell);
}

/** Reads what each page of rows needs besides, such as names, page by page. */
export async function* mapPages<Row, Mapped>(
  pages: AsyncIterable<readonly Row[]>,
  map: (rows: readonly Row[]) => Promise<readonly Mapped[]>,
): AsyncGenerator<readonly Mapped[]> {
  for await (const rows of pages) yield await map(rows);
}
