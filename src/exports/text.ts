import { createGcHint } from "../base/gc_hint.ts";
import { type Cells, csvHeader, csvWriter, jsonWriter } from "./row_writers.ts";
import type { ExportSpec } from "./export_spec.ts";
import type { ExportSource } from "./export_source.ts";

/** What to export, of which account and as of when. */
export interface ExportWork extends ExportSpec {
  accountId: number;
  snapshot: string;
}

/** Text is gathered into pieces of about this many UTF-16 units. */
const pieceChars = 128 * 1024;

/**
 * The export's bytes in pieces, read on demand: at most a few pages of rows and one piece are in
 * memory. `onRows` gets the number of rows written so far.
 */
export async function* exportBytes(
  source: ExportSource,
  work: ExportWork,
  onRows: (rows: number) => void = () => {},
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  const gcHint = createGcHint(gcHintEveryBytes);
  let piece = "";
  let rows = 0;
  for await (const { texts, areRows } of exportTexts(source, work)) {
    for (const text of texts) {
      piece += text;
      if (areRows) rows++;
      if (piece.length < pieceChars) continue;
      const bytes = encoder.encode(piece);
      yield bytes;
      gcHint.left(bytes.length);
      onRows(rows);
      piece = "";
    }
  }
  yield encoder.encode(piece);
  onRows(rows);
}

/** Suggest a minor GC after so many bytes: a fast export leaves them quicker than V8 counts them. */
const gcHintEveryBytes = 4 * 1024 * 1024;

/** Texts that follow each other: rows, or one that stands between them. */
interface Texts {
  texts: Iterable<string>;
  areRows: boolean;
}

async function* exportTexts(source: ExportSource, work: ExportWork): AsyncGenerator<Texts> {
  if (work.format === "csv") {
    yield* csvTexts(source, work);
    return;
  }
  const { tables } = work;
  if (work.format === "jsonl") {
    const write = jsonWriter(tables[0]!, work.columns);
    for await (const some of rowsOf(source, work, tables[0]!)) {
      yield written(some, (cells) => write(cells) + "\n");
    }
    return;
  }
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

async function* csvTexts(source: ExportSource, work: ExportWork): AsyncGenerator<Texts> {
  const table = work.tables[0]!;
  yield between(csvHeader(table, work.columns));
  const write = csvWriter(table, work.rawCells, work.columns);
  for await (const some of rowsOf(source, work, table)) yield written(some, write);
}

async function* jsonArray(
  source: ExportSource,
  work: ExportWork,
  table: ExportSpec["tables"][number],
): AsyncGenerator<Texts> {
  yield between("[");
  const write = jsonWriter(table, work.columns);
  let start = "\n";
  for await (const some of rowsOf(source, work, table)) {
    yield written(some, (cells) => {
      const text = start + write(cells);
      start = ",\n";
      return text;
    });
  }
  yield between("\n]");
}

function rowsOf(
  source: ExportSource,
  { accountId, start, end, filters, snapshot, columns }: ExportWork,
  table: ExportSpec["tables"][number],
): AsyncIterable<readonly Cells[]> {
  return source.read({
    table,
    accountId,
    filters,
    snapshot,
    ...(start ? { start } : {}),
    ...(end ? { end } : {}),
    ...(hasPayloads(columns) ? {} : { withoutPayloads: true }),
  });
}

function hasPayloads(columns: readonly string[] | undefined): boolean {
  return columns === undefined || columns.includes("request") || columns.includes("response");
}

const between = (text: string): Texts => ({ texts: [text], areRows: false });

/** Written one by one as they are asked for, since together they may be long. */
function written(some: readonly Cells[], write: (cells: Cells) => string): Texts {
  return { texts: Iterator.from(some).map(write), areRows: true };
}
