import {
  type ColumnKind,
  columnKinds,
  type ExportTable,
} from "../../contracts/data/export_tables.ts";
import type { Cell } from "../records/columns.ts";

/** A row's values in the order of its table's columns. */
export type Cells = readonly Cell[];

/** A table's columns with their kinds, in the order of an export. */
export function columnsOf(table: ExportTable): [string, ColumnKind][] {
  return Object.entries(columnKinds[table]);
}

/**
 * Writes rows of a table as JSON objects. JSON cells, payloads above all, are put in as the text
 * they are: nothing is parsed or written again.
 */
export function jsonWriter(table: ExportTable): (cells: Cells) => string {
  const columns = columnsOf(table).map(([name, kind], at) => ({
    start: `${at === 0 ? "" : ","}"${name}":`,
    // Truths may come as text; numbers and truths are written as they are.
    isQuoted: kind !== "json" && kind !== "number" && kind !== "boolean",
  }));
  return (cells) => {
    let text = "{";
    for (let at = 0; at < columns.length; at++) {
      const { start, isQuoted } = columns[at]!;
      const cell = cells[at] ?? null;
      text += start + (cell === null ? "null" : isQuoted ? JSON.stringify(cell) : cell);
    }
    return text + "}";
  };
}

/** The header line of a table, ended by CRLF. */
export function csvHeader(table: ExportTable): string {
  return columnsOf(table).map(([name]) => name).join(",") + "\r\n";
}

/**
 * Writes rows of a table as lines of RFC 4180, ended by CRLF. An absent value is nothing, an empty
 * text is `""`, as PostgreSQL's COPY tells them apart. Unless `rawCells`, words of callers and
 * vendors that a spreadsheet would take for a formula begin with `'`.
 */
export function csvWriter(table: ExportTable, rawCells: boolean): (cells: Cells) => string {
  const kinds = columnsOf(table).map(([, kind]) => kind);
  return (cells) => {
    let text = "";
    for (let at = 0; at < kinds.length; at++) {
      const cell = csvCell(cells[at] ?? null, kinds[at]!, rawCells);
      text += at === 0 ? cell : "," + cell;
    }
    return text + "\r\n";
  };
}

/** What makes a spreadsheet take a cell for a formula; it drops tabs and returns before looking. */
const formula = /^[=+\-@\t\r]/;
const special = /[",\r\n]/;

/** One cell of a line of CSV; see `csvWriter`. */
export function csvCell(cell: Cell, kind: ColumnKind, rawCells: boolean): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const isTheirs = kind === "text" || kind === "json";
  const text = !rawCells && isTheirs && formula.test(cell) ? `'${cell}` : cell;
  return text === "" || special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
