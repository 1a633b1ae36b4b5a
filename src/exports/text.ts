import { type Cells, csvHeader, csvWriter, jsonWriter } from "./row_writers.ts";
import type { ExportSpec } from "./export_spec.ts";
import type { ExportSource } from "./export_source.ts";

/** What to export, of which account and as of when. */
export interface ExportWork extends ExportSpec {
  accountId: number;
  snapshot: string;
}

/** Text is gathered into pieces of about this many UTF-16 units. */
const pieceChars = 64 * 1024;

/**
 * The export's bytes in pieces, read on demand: at most a page of rows and one piece are in memory.
 * `onRows` gets the number of rows written so far.
 */
export async function* exportBytes(
  source: ExportSource,
  work: ExportWork,
  onRows: (rows: number) => void = () => {},
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let piece = "";
  let rows = 0;
  for await (const { text, isRow } of exportText(source, work)) {
    piece += text;
    if (isRow) rows++;
    if (piece.length < pieceChars) continue;
    yield encoder.encode(piece);
    onRows(rows);
    piece = "";
  }
  yield encoder.encode(piece);
  onRows(rows);
}

interface Text {
  text: string;
  isRow: boolean;
}

async function* exportText(source: ExportSource, work: ExportWork): AsyncGenerator<Text> {
  if (work.format === "csv") {
    yield* csvText(source, work);
    return;
  }
  const { tables } = work;
  if (tables.length === 1) {
    yield* jsonArray(source, work, tables[0]!);
    yield between("\n");
    return;
  }
  for (const [at, table] of tables.entries()) {
    yield between(`${at === 0 ? "{" : ",\n"}"${table}":`);
    yield* jsonArray(source, work, table);
  }
  yield between("}\n");
}

async function* csvText(source: ExportSource, work: ExportWork): AsyncGenerator<Text> {
  const table = work.tables[0]!;
  yield between(csvHeader(table));
  const write = csvWriter(table, work.rawCells);
  for await (const cells of rowsOf(source, work, table)) yield row(write(cells));
}

async function* jsonArray(
  source: ExportSource,
  work: ExportWork,
  table: ExportSpec["tables"][number],
): AsyncGenerator<Text> {
  yield between("[");
  const write = jsonWriter(table);
  let start = "\n";
  for await (const cells of rowsOf(source, work, table)) {
    yield row(start + write(cells));
    start = ",\n";
  }
  yield between("\n]");
}

function rowsOf(
  source: ExportSource,
  { accountId, start, end, filters, snapshot }: ExportWork,
  table: ExportSpec["tables"][number],
): AsyncIterable<Cells> {
  return source.read({
    table,
    accountId,
    filters,
    snapshot,
    ...(start ? { start } : {}),
    ...(end ? { end } : {}),
  });
}

const between = (text: string): Text => ({ text, isRow: false });
const row = (text: string): Text => ({ text, isRow: true });
