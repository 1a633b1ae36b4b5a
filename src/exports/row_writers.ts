import {
  type ColumnKind,
  columnKinds,
  type ExportTable,
} from "../../contracts/data/export_tables.ts";
import type { Cell } from "../records/exported_cells.ts";

export type Cells = readonly Cell[];

export function columnsOf(table: ExportTable): [string, ColumnKind][] {
  return Object.entries(columnKinds[table]);
}

interface WrittenColumn {
  name: string;
  kind: ColumnKind;
  /** Where its value stands in a row's cells. */
  at: number;
}

/** All columns of the table, or those of `chosen` that it has, in that order. */
function writtenColumns(table: ExportTable, chosen?: readonly string[]): WrittenColumn[] {
  const all = columnsOf(table).map(([name, kind], at) => ({ name, kind, at }));
  if (chosen === undefined) return all;
  const byName = new Map(all.map((column) => [column.name, column]));
  return chosen.flatMap((name) => byName.get(name) ?? []);
}

/**
 * Writes rows of a table as JSON objects. JSON cells, payloads above all, are put in as the text
 * they are: nothing is parsed or written again. With `oneLine` their line ends become spaces. Rows
 * have all cells of the table, whatever columns are `chosen`; the same goes for the writers below.
 */
export function jsonWriter(
  table: ExportTable,
  chosen?: readonly string[],
  { oneLine = false }: { oneLine?: boolean } = {},
): (cells: Cells) => string {
  const columns = writtenColumns(table, chosen).map(({ name, kind, at }, index) => ({
    start: `${index === 0 ? "" : ","}"${name}":`,
    at,
    // Truths may come as text; numbers and truths are written as they are.
    isQuoted: kind !== "json" && kind !== "number" && kind !== "boolean",
    isFlattened: oneLine && kind === "json",
  }));
  return (cells) => {
    let text = "{";
    for (const { start, at, isQuoted, isFlattened } of columns) {
      const cell = cells[at] ?? null;
      if (cell === null) text += start + "null";
      else if (isQuoted) text += start + JSON.stringify(cell);
      else text += start + (isFlattened ? String(cell).replaceAll(lineEnd, " ") : cell);
    }
    return text + "}";
  };
}

/** JSON has them only between its tokens: in strings they are escaped. */
const lineEnd = /[\r\n]/g;

/** The header line of a table, ended by CRLF. */
export function csvHeader(table: ExportTable, chosen?: readonly string[]): string {
  return writtenColumns(table, chosen).map(({ name }) => name).join(",") + "\r\n";
}

/**
 * Writes rows of a table as lines of RFC 4180, ended by CRLF. An absent value is nothing, an empty
 * text is `""`, as PostgreSQL's COPY tells them apart. Unless `rawCells`, words of callers and
 * vendors that a spreadsheet would take for a formula begin with `'`.
 */
export function csvWriter(
  table: ExportTable,
  rawCells: boolean,
  chosen?: readonly string[],
): (cells: Cells) => string {
  const columns = writtenColumns(table, chosen);
  return (cells) => {
    let text = "";
    for (let index = 0; index < columns.length; index++) {
      const { kind, at } = columns[index]!;
      const cell = csvCell(cells[at] ?? null, kind, rawCells);
      text += index === 0 ? cell : "," + cell;
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
