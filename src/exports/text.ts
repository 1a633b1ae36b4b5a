import { createGcHint } from "../base/gc_hint.ts";
import { Turns } from "../base/turns.ts";
import type { ExportTable } from "../../contracts/data/export_tables.ts";
import type { ExportedLines, LineForm, WrittenLines } from "../records/analytics_store.ts";
import { type Cells, csvHeader, csvWriter, jsonWriter } from "./row_writers.ts";
import type { ExportSpec } from "./export_spec.ts";
import type { ExportSource } from "./export_source.ts";

/** An export to write: its content, account and snapshot. */
export interface ExportWork extends ExportSpec {
  accountId: number;
  snapshot: string;
}

/**
 * Yields the export's bytes in pieces, read on demand: at most a few pages of rows and one piece
 * are in memory. `onRows` gets the number of rows written so far.
 */
export async function* exportBytes(
  source: ExportSource,
  work: ExportWork,
  onRows: (rows: number) => void = () => {},
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const gcHint = createGcHint(gcHintEveryBytes);
  const pieces = new Pieces();
  const turns = new Turns();
  let rows = 0;
  for await (const chunks of exportChunks(source, work)) {
    for (const chunk of chunks) {
      const full = "text" in chunk ? pieces.addText(chunk.text) : pieces.addBytes(chunk.bytes);
      for (const piece of full) {
        yield piece;
        // A reader that is fast enough never makes this loop wait.
        await turns.pause();
        gcHint.addReleased(piece.length);
        onRows(rows);
      }
      rows += chunk.rows;
    }
  }
  yield pieces.rest();
  onRows(rows);
}

/** Suggests a minor GC after this many bytes: a fast export frees more than V8 notices in time. */
const gcHintEveryBytes = 4 * 1024 * 1024;

const pieceBytes = 128 * 1024;
const encoder = new TextEncoder();

/** Gathers an export into pieces of 128 KiB, or a few bytes less where a character would be cut. */
class Pieces {
  #piece = new Uint8Array(pieceBytes);
  #filled = 0;

  /** Copies the bytes, since their source reuses its buffers. Yields the full pieces. */
  *addBytes(bytes: Uint8Array<ArrayBuffer>): Generator<Uint8Array<ArrayBuffer>> {
    for (let at = 0; at < bytes.length;) {
      const some = bytes.subarray(at, at + pieceBytes - this.#filled);
      this.#piece.set(some, this.#filled);
      this.#filled += some.length;
      at += some.length;
      if (this.#filled === pieceBytes) yield this.rest();
    }
  }

  /** Encodes the text directly into the piece. Yields the full pieces. */
  *addText(text: string): Generator<Uint8Array<ArrayBuffer>> {
    for (let at = 0; at < text.length;) {
      const room = this.#piece.subarray(this.#filled);
      const { read, written } = encoder.encodeInto(at === 0 ? text : text.slice(at), room);
      this.#filled += written;
      at += read;
      if (at < text.length) yield this.rest();
    }
  }

  /** Returns the bytes gathered since the last piece, and begins a new one. */
  rest(): Uint8Array<ArrayBuffer> {
    const piece = this.#piece.subarray(0, this.#filled);
    this.#piece = new Uint8Array(pieceBytes);
    this.#filled = 0;
    return piece;
  }
}

/** Rows in order, or the text between them, which counts no rows. */
type Chunks = Iterable<WrittenLines | Text>;

interface Text {
  text: string;
  rows: number;
}

async function* exportChunks(source: ExportSource, work: ExportWork): AsyncGenerator<Chunks> {
  const { tables, format, rawCells } = work;
  const chosen = work.columns ? { columns: work.columns } : {};
  if (format === "csv") {
    yield between(csvHeader(tables[0]!, work.columns));
    yield* rowsOf(source, work, tables[0]!, { format, rawCells, ...chosen });
    return;
  }
  if (format === "jsonl") {
    const form = { format: "json", before: "", after: "\n", oneLine: true, ...chosen } as const;
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
): AsyncGenerator<Chunks> {
  yield between("[");
  const chosen = work.columns ? { columns: work.columns } : {};
  const form = { format: "json", before: ",\n", after: "", ...chosen } as const;
  let isFirst = true;
  for await (const chunks of rowsOf(source, work, table, form)) {
    // No comma before the first row.
    yield isFirst ? withoutFirstByte(chunks) : chunks;
    isFirst = false;
  }
  yield between("\n]");
}

async function* rowsOf(
  source: ExportSource,
  { accountId, start, end, filters, snapshot, columns }: ExportWork,
  table: ExportTable,
  form: LineForm,
): AsyncGenerator<Chunks> {
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
    yield written(rows, write);
  }
}

/** Turns cells into lines one at a time, on demand, since all lines together may be long. */
function* written(
  some: readonly ExportedLines[],
  write: (cells: Cells) => Iterable<string>,
): Generator<WrittenLines | Text> {
  for (const one of some) {
    if ("bytes" in one) {
      yield one;
      continue;
    }
    for (const text of write(one)) yield { text, rows: 0 };
    yield { text: "", rows: 1 };
  }
}

/** Returns a function that writes cells as a line of this form, in one or more pieces. */
function lineWriter(table: ExportTable, form: LineForm): (cells: Cells) => Iterable<string> {
  if (form.format === "csv") return csvWriter(table, form.rawCells, form.columns);
  const write = jsonWriter(table, form.columns, form);
  return (cells) => [form.before + write(cells) + form.after];
}

function hasPayloads(columns: readonly string[] | undefined): boolean {
  return columns === undefined || columns.includes("request") || columns.includes("response");
}

function between(text: string): Chunks {
  return [{ text, rows: 0 }];
}

/** Drops the comma, a single byte, in front of the first row. */
function* withoutFirstByte(chunks: Chunks): Generator<WrittenLines | Text> {
  let isFirst = true;
  for (const chunk of chunks) {
    if (!isFirst) yield chunk;
    else if ("text" in chunk) yield { ...chunk, text: chunk.text.slice(1) };
    else yield { ...chunk, bytes: chunk.bytes.subarray(1) };
    isFirst = false;
  }
}
