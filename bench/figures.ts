import { conditions } from "./conditions.ts";
import { drawFigures } from "./picture.ts";
import { printTable } from "./table.ts";

/** A figure of a bench; numbers are in the unit that their name ends with. */
export type Figure = Readonly<Record<string, unknown>>;

type Benches = Record<string, { conditions: object; figures: Figure[] }>;

/** What benches found: tables for people at once, and all figures as JSON in the end. */
export class Figures {
  readonly #benches: Benches = {};
  readonly #failures: string[] = [];

  /**
   * Prints a table, whose first row is its head, and keeps its figures under the bench's name: those
   * that are given, else the table's cells.
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

  /** A promise that did not hold: the run goes on, and fails at its end. */
  fail(message: string): void {
    console.error(`FAILED: ${message}`);
    this.#failures.push(message);
  }

  get failures(): readonly string[] {
    return this.#failures;
  }

  /**
   * Writes the benches of this run into a file, which keeps those of other runs: a long suite can be
   * taken bench by bench. A picture of them comes to stand beside it.
   */
  async write(path: string): Promise<void> {
    const older = await Deno.readTextFile(path).then(JSON.parse, () => ({}));
    const all = Object.entries({ ...older.benches, ...this.#benches });
    const benches = Object.fromEntries(all.sort(([a], [b]) => a < b ? -1 : 1)) as Benches;
    await Deno.writeTextFile(path, JSON.stringify({ benches }));
    // As the repository formats its files.
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
