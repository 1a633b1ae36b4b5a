import {
  type ColumnKind,
  columnKinds,
  type ExportTable,
} from "../../contracts/data/export_tables.ts";
import { beginning } from "../base/characters.ts";
import { type Cell, formulaBeginnings } from "../records/exported_cells.ts";

export type Cells = readonly Cell[];

export function columnsOf(table: ExportTable): [string, ColumnKind][] {
  return Object.entries(columnKinds[table]);
}

interface WrittenColumn {
  name: string;
  kind: ColumnKind;
  /** The index of its value in a row's cells. */
  at: number;
}

/** Returns all columns of the table, or those of `chosen` that it has, in the order of `chosen`. */
function writtenColumns(table: ExportTable, chosen?: readonly string[]): WrittenColumn[] {
  const all = columnsOf(table).map(([name, kind], at) => ({ name, kind, at }));
  if (chosen === undefined) return all;
  const byName = new Map(all.map((column) => [column.name, column]));
  return chosen.flatMap((name) => byName.get(name) ?? []);
}

/**
 * Returns a function that writes a row of a table as a JSON object. JSON cells, mainly payloads,
 * are copied as text, without parsing them. With `oneLine` their line breaks become spaces. The
 * function takes all cells of the table, even if only some columns are `chosen`, as do the writers
 * below.
 */
export function jsonWriter(
  table: ExportTable,
  chosen?: readonly string[],
  { oneLine = false }: { oneLine?: boolean } = {},
): (cells: Cells) => string {
  const columns = writtenColumns(table, chosen).map(({ name, kind, at }, index) => ({
    start: `${index === 0 ? "" : ","}"${name}":`,
    at,
    // Booleans, which may arrive as text, and numbers are written without quotes.
    isQuoted: kind !== "json" && kind !== "number" && kind !== "boolean",
    isFlattened: oneLine && kind === "json",
  }));
  return (cells) => {
    let text = "{";
    for (const { start, at, isQuoted, isFlattened } of columns) {
      const cell = cells[at] ?? null;
      if (cell === null) text += start + "null";
      else if (isQuoted) text += start + JSON.stringify(cell);
      else text += start + (isFlattened ? onOneLine(String(cell)) : cell);
    }
    return text + "}";
  };
}

/** JSON has line breaks only between tokens: in strings they are escaped. */
function onOneLine(json: string): string {
  return replaced(replaced(json, "\n", " "), "\r", " ");
}

/** `replaceAll`, which takes four times as long where there are many. */
function replaced(text: string, one: string, other: string): string {
  return text.includes(one) ? text.split(one).join(other) : text;
}

/** Returns the header line of a table, ended by CRLF. */
export function csvHeader(table: ExportTable, chosen?: readonly string[]): string {
  return writtenColumns(table, chosen).map(({ name }) => name).join(",") + "\r\n";
}

/**
 * Returns a function that writes a row of a table as a line of CSV (RFC 4180), ended by CRLF, in
 * pieces on demand: to double the quotes of a large payload takes long. Null is an empty field and
 * an empty text is `""`, as in PostgreSQL's COPY. Unless `rawCells`, text from callers and vendors
 * that a spreadsheet would read as a formula gets a `'` in front.
 */
export function csvWriter(
  table: ExportTable,
  rawCells: boolean,
  chosen?: readonly string[],
): (cells: Cells) => Iterable<string> {
  const columns = writtenColumns(table, chosen);
  return (cells) => csvLine(columns, rawCells, cells);
}

function* csvLine(
  columns: readonly WrittenColumn[],
  rawCells: boolean,
  cells: Cells,
): Generator<string> {
  let text = "";
  for (let index = 0; index < columns.length; index++) {
    const { kind, at } = columns[index]!;
    const cell = cells[at] ?? null;
    if (index > 0) text += ",";
    if (typeof cell === "string" && cell.length > pieceUnits) {
      yield text;
      text = "";
      yield* longCell(cell, kind, rawCells);
    } else text += csvCell(cell, kind, rawCells);
  }
  yield text + "\r\n";
}

/** UTF-16 units of a cell that are written at once. */
const pieceUnits = 64 * 1024;

const special = /[",\r\n]/;

/** Writes one cell of a line of CSV; see `csvWriter`. */
export function csvCell(cell: Cell, kind: ColumnKind, rawCells: boolean): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const text = guarded(cell, kind, rawCells);
  return text === "" || special.test(text) ? `"${replaced(text, '"', '""')}"` : text;
}

/** The same in pieces. */
function* longCell(cell: string, kind: ColumnKind, rawCells: boolean): Generator<string> {
  const text = guarded(cell, kind, rawCells);
  if (!special.test(text)) return yield text;
  yield '"';
  for (let at = 0; at < text.length;) {
    // Half of a character can't be encoded.
    const piece = beginning(text.slice(at, at + pieceUnits), pieceUnits);
    yield replaced(piece, '"', '""');
    at += piece.length;
  }
  yield '"';
}

function guarded(cell: string, kind: ColumnKind, rawCells: boolean): string {
  const isTheirs = kind === "text" || kind === "json";
  return !rawCells && isTheirs && formulaBeginnings.has(cell.charAt(0)) ? `'${cell}` : cell;
}
