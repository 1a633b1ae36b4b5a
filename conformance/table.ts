import { type DialectProbes, featureNames, NotOffered } from "./feature.ts";

/** How one cell of the table came out; a reason when it failed. */
export type Cell =
  | { ok: true }
  /** `refused`: the vendor of this model takes no such request, and said so. */
  | { ok: false; refused: boolean; reason: string };

/** One line: a vendor's model through one dialect. */
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

/** Runs one probe. */
export async function cellOf(probe: () => Promise<void>): Promise<Cell> {
  try {
    await probe();
    return { ok: true };
  } catch (thrown) {
    return { ok: false, refused: isRefusal(thrown), reason: reasonOf(thrown) };
  }
}

/** The table in Markdown, and below it a line for each failure. */
export function renderTable(rows: readonly Row[]): string {
  return renderCells(
    ["vendor", "dialect"],
    featureNames,
    rows.map(({ vendor, dialect, cells }) => ({ names: [vendor, dialect], cells })),
  );
}

/** Rows with their names in front, and below them a line for each failure. */
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

/** A 400 that names the field: an honest no, which the table shows apart from a failure. */
function isRefusal(thrown: unknown): boolean {
  if (thrown instanceof NotOffered) return true;
  return thrown instanceof Error && (thrown as { status?: unknown }).status === 400 &&
    /not supported|unsupported|does not support/i.test(thrown.message);
}

function reasonOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return message.replace(/\s+/g, " ").slice(0, 300);
}
