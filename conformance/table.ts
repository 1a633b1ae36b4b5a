import { type DialectProbes, featureNames, NotOffered } from "./feature.ts";

/** The result of one cell of the table. */
export type Cell =
  | { ok: true }
  /** `refused`: the server or its vendor said that it doesn't support the request. */
  | { ok: false; refused: boolean; reason: string };

/** One row of the table: a vendor's model through one dialect. */
export interface Row {
  vendor: string;
  model: string;
  dialect: string;
  cells: ReadonlyMap<string, Cell>;
}

/** Runs every probe of a dialect with one model, one after the other. */
export async function probeRow(
  { dialect, probes }: DialectProbes,
  vendor: string,
  model: string,
): Promise<Row> {
  const cells = new Map<string, Cell>();
  for (const probe of probes) cells.set(probe.name, await cellOf(() => probe.run(model)));
  return { vendor, model, dialect, cells };
}

/** Runs one probe and returns its result. */
export async function cellOf(probe: () => Promise<void>): Promise<Cell> {
  try {
    await probe();
    return { ok: true };
  } catch (thrown) {
    return { ok: false, refused: isRefusal(thrown), reason: reasonOf(thrown) };
  }
}

/** Returns the table in Markdown, followed by a line for each failure. */
export function renderTable(rows: readonly Row[]): string {
  return renderCells(
    ["vendor", "dialect"],
    featureNames,
    rows.map(({ vendor, dialect, cells }) => ({ names: [vendor, dialect], cells })),
  );
}

/** Returns rows in Markdown, each after its names, followed by a line for each failure. */
export function renderCells(
  rowNames: readonly string[],
  features: readonly string[],
  rows: readonly { names: readonly string[]; cells: ReadonlyMap<string, Cell> }[],
): string {
  const head = [...rowNames, ...features];
  const body = rows.map(({ names, cells }) => [
    ...names,
    ...features.map((name) => {
      const cell = cells.get(name);
      return cell === undefined ? "" : cell.ok ? "✓" : cell.refused ? "–" : "✗";
    }),
  ]);
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const failures = rows.flatMap(({ names, cells }) =>
    [...cells].flatMap(([name, cell]) =>
      cell.ok ? [] : [`${cell.refused ? "–" : "✗"} ${names.join(" ")} ${name}: ${cell.reason}`]
    )
  );
  return [
    line(head),
    line(head.map(() => "---")),
    ...body.map(line),
    ...(failures.length > 0 ? ["", ...failures] : []),
  ].join("\n");
}

/** Whether the feature is unsupported (a 400 that says so), which is no failure in the table. */
function isRefusal(thrown: unknown): boolean {
  if (thrown instanceof NotOffered) return true;
  return thrown instanceof Error && (thrown as { status?: unknown }).status === 400 &&
    /not supported|unsupported|does not support/i.test(thrown.message);
}

function reasonOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return message.replace(/\s+/g, " ").slice(0, 300);
}
