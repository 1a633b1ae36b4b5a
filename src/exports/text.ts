import { createGcHint } from "../base/gc_hint.ts";
import type { ExportTable } from "../../contracts/data/export_tables.ts";
import type { ExportedLines, LineForm, WrittenLines } from "../records/analytics_store.ts";
import { type Cells, csvHeader, csvWriter, jsonWriter } from "./row_writers.ts";
import type { ExportSpec } from "./export_spec.ts";
import type { ExportSource } from "./export_source.ts";

/** What to export, of which account and as of when. */
export interface ExportWork extends ExportSpec {
  accountId: number;
  snapshot: string;
}

/** Lines are gathered into pieces of this many bytes. */
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
  const gcHint = createGcHint(gcHintEveryBytes);
  let piece = new Uint8Array(pieceBytes);
  let filled = 0;
  let rows = 0;
  for await (const lines of exportLines(source, work)) {
    for (const { bytes, rows: more } of lines) {
      // Copied, since the source uses its buffers again.
      for (let at = 0; at < bytes.length;) {
        const part = bytes.subarray(at, at + pieceBytes - filled);
        piece.set(part, filled);
        at += part.length;
        filled += part.length;
        if (filled < pieceBytes) continue;
        yield piece;
        gcHint.left(filled);
        onRows(rows);
        piece = new Uint8Array(pieceBytes);
        filled = 0;
      }
      rows += more;
    }
  }
  yield piece.subarray(0, filled);
  onRows(rows);
}

/** Suggest a minor GC after so many bytes: a fast export leaves them quicker than V8 counts them. */
const gcHintEveryBytes = 4 * 1024 * 1024;

/** Rows in their order, or what stands between them, which has no rows. */
type Lines = Iterable<WrittenLines>;

async function* exportLines(source: ExportSource, work: ExportWork): AsyncGenerator<Lines> {
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
): AsyncGenerator<Lines> {
  yield between("[");
  const { columns } = work;
  const form = {
    format: "json",
    before: ",\n",
    after: "",
    ...(columns ? { columns } : {}),
  } as const;
  let isFirst = true;
  for await (const lines of rowsOf(source, work, table, form)) {
    // No comma before the first row.
    yield isFirst ? withoutFirstByte(lines) : lines;
    isFirst = false;
  }
  yield between("\n]");
}

async function* rowsOf(
  source: ExportSource,
  { accountId, start, end, filters, snapshot, columns }: ExportWork,
  table: ExportTable,
  form: LineForm,
): AsyncGenerator<Lines> {
  const write = lineWriter(table, form);
  const scratch = new Uint8Array(6 * writtenChars);
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
    yield writtenLines(rows, write, scratch);
  }
}

/** Cells become lines as they are asked for, since together they may be long. */
function* writtenLines(
  some: readonly ExportedLines[],
  write: (cells: Cells) => string,
  scratch: Uint8Array<ArrayBuffer>,
): Generator<WrittenLines> {
  let text = "";
  let rows = 0;
  const written = () => {
    const result = { bytes: encodeInto(scratch, text), rows };
    text = "";
    rows = 0;
    return result;
  };
  for (const one of some) {
    if ("bytes" in one) {
      if (rows > 0) yield written();
      yield one;
    } else {
      text += write(one);
      rows++;
      if (text.length >= writtenChars) yield written();
    }
  }
  if (rows > 0) yield written();
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

/** Written texts are encoded in portions of about this many UTF-16 units. */
const writtenChars = 32 * 1024;

const encoder = new TextEncoder();

/** In `scratch` where it surely fits: a buffer for each portion would be as much garbage again. */
function encodeInto(scratch: Uint8Array<ArrayBuffer>, text: string): Uint8Array<ArrayBuffer> {
  if (text.length * 3 > scratch.length) return encoder.encode(text);
  return scratch.subarray(0, encoder.encodeInto(text, scratch).written);
}

function between(text: string): Lines {
  return [{ bytes: encoder.encode(text), rows: 0 }];
}

function* withoutFirstByte(lines: Lines): Generator<WrittenLines> {
  let isFirst = true;
  for (const { bytes, rows } of lines) {
    yield { bytes: isFirst ? bytes.subarray(1) : bytes, rows };
    isFirst = false;
  }
}
