import type { ColumnKind, ExportTable } from "../../contracts/data/export_tables.ts";
import type { Cell } from "../records/columns.ts";
import { type Cells, columnsOf } from "./export.ts";

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

function csvCell(cell: Cell, kind: ColumnKind, rawCells: boolean): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const isCallerText = kind === "text" || kind === "json";
  const text = !rawCells && isCallerText && formula.test(cell) ? `'${cell}` : cell;
  return text === "" || special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
