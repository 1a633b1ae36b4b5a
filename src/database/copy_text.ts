import { formatArray, textOf } from "./arrays.ts";

/**
 * Returns a row for `Transaction.copyIn`: its values, column by column, as a line of the text
 * format of PostgreSQL's `COPY` (its manual, "COPY", "Text Format"). Times are written as RFC 3339.
 */
export function copyLine(values: readonly unknown[]): string {
  return `${values.map(copyCell).join("\t")}\n`;
}

function copyCell(value: unknown): string {
  if (value === null || value === undefined) return "\\N";
  return escaped(Array.isArray(value) ? formatArray(value) : textOf(value));
}

/**
 * Most texts have none of these, and searching for one character is faster than for any of four.
 */
function escaped(text: string): string {
  let written = text.includes("\\") ? text.replaceAll("\\", "\\\\") : text;
  if (written.includes("\n")) written = written.replaceAll("\n", "\\n");
  if (written.includes("\r")) written = written.replaceAll("\r", "\\r");
  return written.includes("\t") ? written.replaceAll("\t", "\\t") : written;
}
