import { parseArgs } from "node:util";

/** Options of `deno task bench`. */
export interface BenchOptions {
  /** Names of benches; empty: all. */
  names: readonly string[];
  /** The JSON file that the figures are written to. */
  json: string | undefined;
  /** Contenders of the bench `relay` by name. */
  peers: readonly string[] | undefined;
  /** Cells of the benches `relay` and `processes` by name. */
  cells: readonly string[] | undefined;
  /** Duration of one measurement. */
  seconds: number;
  /** Repetitions of each measurement; each bench has its own default. */
  rounds: number | undefined;
  /** Stored interactions of the benches `growth`, `export` and `dashboard`. */
  rows: number | undefined;
  /** Pages of the bench `dashboard`: those whose name contains one of these words. */
  pages: readonly string[] | undefined;
  /** Databases of the bench `dashboard`: `postgres`, `embedded` or both. */
  stores: readonly string[] | undefined;
  /** Duration of the bench `soak`. */
  minutes: number;
}

export const benchUsage =
  "deno task bench [NAME]… [--json FILE] [--peers A,B] [--cells A,B] [--seconds N] [--rounds N] [--rows N] [--minutes N] [--pages A,B] [--stores postgres,embedded]";

const text = { type: "string" } as const;
const known = {
  json: text,
  peers: text,
  cells: text,
  seconds: text,
  rounds: text,
  rows: text,
  minutes: text,
  pages: text,
  stores: text,
} as const;

/** Parses the arguments. Throws a one-line Error for an invalid option. */
export function readBenchOptions(argv: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: known,
    allowPositionals: true,
    strict: true,
  });
  const number = (name: "seconds" | "rounds" | "rows" | "minutes") => {
    const value = values[name];
    if (value === undefined) return undefined;
    if (!/^\d+$/.test(value) || Number(value) < 1) {
      throw new Error(`--${name} ${value}: expected a whole number from 1 on`);
    }
    return Number(value);
  };
  const list = (value: string | undefined) => value?.split(",").filter((one) => one !== "");
  return {
    names: positionals,
    json: values.json,
    peers: list(values.peers),
    cells: list(values.cells),
    seconds: number("seconds") ?? 4,
    rounds: number("rounds"),
    rows: number("rows"),
    minutes: number("minutes") ?? 10,
    pages: list(values.pages),
    stores: list(values.stores),
  };
}
