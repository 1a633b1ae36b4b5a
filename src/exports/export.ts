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
  const columns = columnsOf(table).map(([name, kind]) => ({ start: `"${name}":`, kind }));
  return (cells) => {
    let text = "{";
    for (let at = 0; at < columns.length; at++) {
      const { start, kind } = columns[at]!;
      const cell = cells[at] ?? null;
      text += (at === 0 ? start : "," + start) +
        (cell === null ? "null" : kind === "json" ? cell : JSON.stringify(cell));
    }
    return text + "}";
  };
}
