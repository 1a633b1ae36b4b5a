import { createGcHint } from "../base/gc_hint.ts";
import type { ExportTable } from "../../contracts/data/export_tables.ts";
import type { LineForm } from "../records/analytics_store.ts";
import { type Cells, csvHeader, csvWriter, jsonWriter } from "./row_writers.ts";
import type { ExportSpec } from "./export_spec.ts";
import type { ExportSource } from "./export_source.ts";

/** What to export, of which account and as of when. */
export interface ExportWork extends ExportSpec {
  accountId: number;
  snapshot: string;
}

/** Lines are gathered into pieces of this many bytes; a longer line is a piece of its own. */
const pieceBytes = 128 * 1024;

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
  let piece = new Uint8Array(pieceBytes);
  let filled = 0;
  let rows = 0;
  for await (const { parts, areRows } of exportParts(source, work)) {
    for (const part of parts) {
      const bytes = typeof part === "string" ? encoder.encode(part) : part;
      if (filled > 0 && filled + bytes.length > pieceBytes) {
        yield piece.subarray(0, filled);
        gcHint.left(filled);
        onRows(rows);
        piece = new Uint8Array(pieceBytes);
        filled = 0;
      }
      if (areRows) rows++;
      if (bytes.length > pieceBytes) {
        yield bytes;
        gcHint.left(bytes.length);
        onRows(rows);
      } else {
        piece.set(bytes, filled);
        filled += bytes.length;
      }
    }
  }
  yield piece.subarray(0, filled);
  onRows(rows);
}

/** Suggest a minor GC after so many bytes: a fast export leaves them quicker than V8 counts them. */
const gcHintEveryBytes = 4 * 1024 * 1024;

type Part = string | Uint8Array<ArrayBuffer>;

/** Parts that follow each other: rows, or what stands between them. */
interface Parts {
  parts: Iterable<Part>;
  areRows: boolean;
}

async function* exportParts(source: ExportSource, work: ExportWork): AsyncGenerator<Parts> {
  const { tables, format, rawCells } = work;
  const chosen = work.columns ? { columns: work.columns } : {};
  if (format === "csv") {
    yield between(csvHeader(tables[0]!, work.columns));
    yield* rowsOf(source, work, tables[0]!, { format, rawCells, ...chosen });
    return;
  }
  if (format === "jsonl") {
    const form = { format: "json", before: "", after: "\n", ...chosen } as const;
    yield* rowsOf(source, work, tables[0]!, form);
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

async function* jsonArray(
  source: ExportSource,
  work: ExportWork,
  table: ExportTable,
): AsyncGenerator<Parts> {
  yield between("[");
  const { columns } = work;
  const form = {
    format: "json",
    before: ",\n",
    after: "",
    ...(columns ? { columns } : {}),
  } as const;
  let isFirst = true;
  for await (const { parts, areRows } of rowsOf(source, work, table, form)) {
    // No comma before the first row.
    yield { parts: isFirst ? withoutFirstByte(parts) : parts, areRows };
    isFirst = false;
  }
  yield between("\n]");
}

async function* rowsOf(
  source: ExportSource,
  { accountId, start, end, filters, snapshot, columns }: ExportWork,
  table: ExportTable,
  form: LineForm,
): AsyncGenerator<Parts> {
  const write = lineWriter(table, form);
  const pages = source.read({
    table,
    accountId,
    filters,
    snapshot,
    ...(start ? { start } : {}),
    ...(end ? { end } : {}),
    ...(hasPayloads(columns) ? {} : { withoutPayloads: true }),
  }, form);
  for await (const rows of pages) {
    if (rows.length === 0) continue;
    // Written one by one as they are asked for, since together they may be long.
    const parts = Iterator.from(rows).map((row) => row instanceof Uint8Array ? row : write(row));
    yield { parts, areRows: true };
  }
}

/** Writes cells as a line of this form. */
function lineWriter(table: ExportTable, form: LineForm): (cells: Cells) => string {
  if (form.format === "csv") return csvWriter(table, form.rawCells, form.columns);
  const write = jsonWriter(table, form.columns);
  return (cells) => form.before + write(cells) + form.after;
}

function hasPayloads(columns: readonly string[] | undefined): boolean {
  return columns === undefined || columns.includes("request") || columns.includes("response");
}

const between = (text: string): Parts => ({ parts: [text], areRows: false });

function* withoutFirstByte(parts: Iterable<Part>): Generator<Part> {
  let isFirst = true;
  for (const part of parts) {
    yield isFirst ? part.slice(1) : part;
    isFirst = false;
  }
}
