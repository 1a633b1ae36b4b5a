/** Prints rows of cells as a Markdown table; the first row is the head. */
export function printTable(title: string, rows: readonly (readonly string[])[]): void {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  const line = (row: readonly string[]) =>
    `| ${
      row.map((cell, at) => at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)).join(
        " | ",
      )
    } |`;
  const rule = `|${
    widths.map((width, at) => "-".repeat(width + 1) + (at === 0 ? "-" : ":")).join("|")
  }|`;
  console.log([`\n${title}\n`, line(rows[0]!), rule, ...rows.slice(1).map(line)].join("\n"));
}

/** Returns the 95th percentile of some times. */
export function p95(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.95) - 1]!;
}
