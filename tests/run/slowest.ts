import { ofBatch } from "./batches.ts";

/** How long the tests of one file took, together. */
export interface FileTime {
  readonly file: string;
  readonly seconds: number;
}

/**
 * Returns the slowest files of a run by the output of `deno test`, since its report names the file
 * that registered a test, which may be a helper. Reads both forms of the output: of parallel runs
 * (`./a_test.ts => name ... ok (5ms)`) and of others (`running 2 tests from ./a_test.ts`, then
 * `name ... ok (5ms)`). The time that a file's imports take isn't printed.
 */
export function slowestFiles(output: string, most: number): FileTime[] {
  const times = new Map<string, Map<string, number>>();
  let running = "";
  for (const line of output.split("\n")) {
    running = /^running \d+ tests? from (?:\.\/)?(\S+)$/.exec(line)?.[1] ?? running;
    // Steps of the second form are indented.
    const ended =
      /^(?! )(?:(?:\.\/)?(\S+_test\.tsx?) => )?(.+) \.\.\. (?:ok|FAILED) .*\(([\dhms]+)\)$/
        .exec(line);
    const test = ended && (ofBatch(ended[2]!) ?? { file: ended[1] ?? running, name: ended[2]! });
    if (!ended || !test || test.file === "") continue;
    const { file, name } = test;
    const tests = times.get(file) ?? new Map<string, number>();
    tests.set(name, secondsOf(ended[3]!));
    times.set(file, tests);
  }
  return [...times].map(([file, tests]) => ({ file, seconds: sum(withoutSteps(tests)) }))
    .sort((a, b) => b.seconds - a.seconds || (a.file < b.file ? -1 : 1)).slice(0, most);
}

/** Formats one line per file, for people and for the table in `files.ts`. */
export function slowestLines(files: readonly FileTime[]): string {
  return files.map(({ file, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${file}`)
    .join("\n");
}

/** Leaves out steps, which are named `test ... step`: the test's time includes theirs. */
function withoutSteps(tests: ReadonlyMap<string, number>): number[] {
  const isStep = (name: string) => {
    for (let at = name.indexOf(" ... "); at >= 0; at = name.indexOf(" ... ", at + 1)) {
      if (tests.has(name.slice(0, at))) return true;
    }
    return false;
  };
  return [...tests].filter(([name]) => !isStep(name)).map(([, seconds]) => seconds);
}

/** Reads a time as Deno prints it: `480ms`, `12s`, `1m5s` or `1h2m3s`. */
function secondsOf(text: string): number {
  const unit: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 };
  return sum(
    [...text.matchAll(/(\d+)(ms|[hms])/g)].map(([, count, of]) => Number(count) * unit[of!]!),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
