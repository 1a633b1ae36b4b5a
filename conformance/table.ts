import { type DialectProbes, featureNames } from "./feature.ts";

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
  for (const probe of probes) {
    cells.set(
      probe.name,
      await probe.run(model).then(
        (): Cell => ({ ok: true }),
        (thrown): Cell => ({ ok: false, refused: isRefusal(thrown), reason: reasonOf(thrown) }),
      ),
    );
  }
  return { vendor, model, dialect, cells };
}

/** The table in Markdown, and below it a line for each failure. */
export function renderTable(rows: readonly Row[]): string {
  const head = ["vendor", "dialect", ...featureNames];
  const body = rows.map(({ vendor, dialect, cells }) => [
    vendor,
    dialect,
    ...featureNames.map((name) => {
      const cell = cells.get(name);
      return cell === undefined ? "" : cell.ok ? "✓" : cell.refused ? "–" : "✗";
    }),
  ]);
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const failures = rows.flatMap(({ vendor, dialect, cells }) =>
    [...cells].flatMap(([name, cell]) =>
      cell.ok ? [] : [`${cell.refused ? "–" : "✗"} ${vendor} ${dialect} ${name}: ${cell.reason}`]
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
  return thrown instanceof Error && (thrown as { status?: unknown }).status === 400 &&
    /not supported|unsupported|does not support/i.test(thrown.message);
}

function reasonOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return message.replace(/\s+/g, " ").slice(0, 300);
}
