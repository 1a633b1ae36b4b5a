import { clients, type Lane } from "./clients.ts";
import { exceptionLine, explanations } from "./explained.ts";

/** What works in one lane of a client, on its own vendor and two others. */
export interface ResultRow {
  readonly name: string;
  readonly version: string;
  readonly lane: Lane;
  readonly cells: readonly string[];
}

/** What a client makes of failures. */
export interface ErrorRow {
  readonly name: string;
  readonly lane: Lane;
  /** Classes of what is thrown for 404, for 429 and in the middle of a stream. */
  readonly missing: string;
  readonly limited: string;
  readonly broken: string;
  /** Whether what is thrown names the call's `X-Request-ID`. */
  readonly requestId: boolean;
  /** Whether it repeats a 503. */
  readonly repeats: boolean;
  /** How often it asks before it gives a 429 to its caller. */
  readonly times: number;
}

/**
 * Puts rows into the page's two tables, in place of those of the same client and lane, and what
 * explains failing cells below the first.
 */
export async function writeTables(
  path: string,
  results: readonly ResultRow[],
  errors: readonly ErrorRow[],
): Promise<void> {
  let page = await Deno.readTextFile(path);
  const resultRows = results.map((
    { name, version, lane, cells },
  ) => [name, lane, version, ...cells]);
  const errorRows = errors.map((row) => [
    ...[row.name, row.lane, `\`${row.missing}\``, `\`${row.limited}\``, `\`${row.broken}\``],
    ...[row.requestId ? "yes" : "no", row.repeats ? "yes" : "no", String(row.times)],
  ]);
  page = replaceRows(page, "works", resultRows);
  page = replaceRows(page, "errors", errorRows);
  const list = explanations.map(exceptionLine).join("\n");
  page = page.replace(
    /(<!-- exceptions -->)[^]*(?=<!-- \/exceptions -->)/,
    (_, mark) => `${mark}\n\n${list}\n\n`,
  );
  await Deno.writeTextFile(path, page);
  await new Deno.Command("deno", { args: ["fmt", "-q", path] }).output();
}

/** The table between the marks `<!-- name -->` and `<!-- /name -->`. */
function replaceRows(page: string, name: string, rows: readonly (readonly string[])[]): string {
  const [before, table, after] = page.split(new RegExp(`<!-- /?${name} -->`));
  if (table === undefined || after === undefined) throw new Error(`docs/sdks.md has no ${name}`);
  const [head, rule, ...old] = table.trim().split("\n");
  const keyOf = (cells: readonly string[]) => cells.slice(0, 2).join(" ");
  const all = new Map(old.map((line) => {
    const cells = line.split("|").slice(1, -1).map((cell) => cell.trim());
    return [keyOf(cells), cells];
  }));
  for (const row of rows) all.set(keyOf(row), [...row]);
  // Rows of a client that is gone go too.
  const keys = clients.flatMap(({ name, lanes }) => lanes.map((lane) => keyOf([name, lane])));
  const inOrder = keys.flatMap((key) => all.has(key) ? [all.get(key)!] : []);
  const lines = inOrder.map((cells) => `| ${cells.join(" | ")} |`);
  return `${before}<!-- ${name} -->\n\n${
    [head, rule, ...lines].join("\n")
  }\n\n<!-- /${name} -->${after}`;
}
