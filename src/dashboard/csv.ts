import { csvCell } from "../exports/row_writers.ts";

/** A cell: texts of callers are guarded against formulas, numbers and amounts are as they are. */
export type CsvCell = { text: string } | { amount: string } | number | bigint;

/** A table as a download: lines of RFC 4180, ended by CRLF. */
export function csvAnswer(
  name: string,
  head: readonly string[],
  rows: readonly (readonly CsvCell[])[],
): Response {
  const lines = rows.map((row) => row.map(cellText).join(","));
  return new Response([head.join(","), ...lines].map((line) => `${line}\r\n`).join(""), {
    headers: {
      "content-type": "text/csv; charset=utf-8; header=present",
      "content-disposition": `attachment; filename="${name}.csv"`,
      "cache-control": "no-store",
    },
  });
}

function cellText(cell: CsvCell): string {
  if (typeof cell !== "object") return String(cell);
  return "text" in cell ? csvCell(cell.text, "text", false) : cell.amount;
}
