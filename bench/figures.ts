import { conditions } from "./conditions.ts";
import { drawFigures } from "./picture.ts";
import { printTable } from "./table.ts";

/** One result of a bench; the name of each number ends with its unit. */
export type Figure = Readonly<Record<string, unknown>>;

type Benches = Record<string, { conditions: object; figures: Figure[] }>;

/** Results of benches: printed as tables at once, and written as JSON at the end. */
export class Figures {
  readonly #benches: Benches = {};
  readonly #failures: string[] = [];

  /**
   * Prints a table, whose first row is its head, and adds its figures under the bench's name: by
   * default the table's cells.
   */
  add(
    bench: string,
    title: string,
    rows: readonly (readonly string[])[],
    figures: readonly Figure[] = cellsOf(title, rows),
  ): void {
    printTable(title, rows);
    const kept = this.#benches[bench] ??= { conditions: conditions(), figures: [] };
    kept.figures.push(...figures);
  }

  /** Notes that a promise did not hold: the run goes on, and fails at its end. */
  fail(message: string): void {
    console.error(`FAILED: ${message}`);
    this.#failures.push(message);
  }

  get failures(): readonly string[] {
    return this.#failures;
  }

  /**
   * Writes the benches of this run into a file, which keeps other benches of earlier runs: a long
   * suite can be run bench by bench. Also draws a picture beside the file.
   */
  async write(path: string): Promise<void> {
    const older = await Deno.readTextFile(path).then(JSON.parse, () => ({}));
    const all = Object.entries({ ...older.benches, ...this.#benches });
    const benches = Object.fromEntries(all.sort(([a], [b]) => a < b ? -1 : 1)) as Benches;
    await Deno.writeTextFile(path, JSON.stringify({ benches }));
    // Formatted like the repository's other files.
    await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", path] }).output();
    if (benches.relay === undefined) return;
    await Deno.writeTextFile(
      path.replace(/(\.json)?$/, ".svg"),
      drawFigures(benches.relay.figures),
    );
  }
}

function cellsOf(title: string, [head, ...rows]: readonly (readonly string[])[]): Figure[] {
  return rows.map((row) => ({
    table: title,
    ...Object.fromEntries(row.map((cell, at) => [head![at]!, cell])),
  }));
}
