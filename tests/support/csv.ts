/** Reads the records of a CSV text by RFC 4180, as a spreadsheet would. */
export function readCsv(text: string): Record<string, string>[] {
  const [head = [], ...rows] = recordsOf(text);
  return rows.map((cells) => Object.fromEntries(head.map((name, at) => [name, cells[at] ?? ""])));
}

function recordsOf(text: string): string[][] {
  const records: string[][] = [];
  let cells: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/y;
  while (cell.lastIndex < text.length) {
    const found = cell.exec(text);
    if (!found) throw new Error(`no CSV: ${text.slice(cell.lastIndex, cell.lastIndex + 80)}`);
    const [, quoted, plain = "", end] = found;
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ",") continue;
    records.push(cells);
    cells = [];
  }
  return records;
}
