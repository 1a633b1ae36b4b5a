import { ofBatch } from "./batches.ts";
import { readJunit, type TestCase } from "./junit.ts";
import type { Outcome } from "./outcome.ts";
import type { Ended } from "./processes.ts";

/**
 * Judges one `deno test` run by its report, its output and its exit code, which must agree: a
 * crash, a file that throws at import, and a file that registers no test are failures too.
 * `files` are the test files that should have run, relative to the repository. Files of whose tests
 * a filter (`isFiltered`) leaves none look like those that register none, so these pass.
 */
export function judgeTests(
  name: string,
  files: readonly string[],
  ended: Ended,
  junit: string,
  { isFiltered = false } = {},
): Outcome {
  const cases = readJunit(junit).map((each) => ({ ...each, ...ofBatch(each.name) }));
  const failures = [
    ...cases.filter((each) => each.state === "failed").map(describe),
    ...brokenFiles(ended.output).map((file) => `${file} failed outside a test`),
    ...(isFiltered ? [] : silentFiles(files, cases, ended.output)),
  ];
  if (ended.timedOut) failures.push(...pendingTests(ended.output), `${name}: no end in time`);
  if (!ended.ok && failures.length === 0) {
    failures.push(`${name}: deno test exited with ${ended.code} and named no failed test`);
  }
  const skips = cases.filter((each) => each.state === "skipped");
  return {
    name,
    passed: cases.filter((each) => each.state === "passed").length,
    failed: failures.length,
    skipped: skips.length,
    seconds: ended.seconds,
    cpuSeconds: ended.cpuSeconds,
    notes: [
      ...failures.map((each) => `failed ${each}`),
      ...skips.map((each) => `skipped ${each.file}: ${each.name}`),
    ],
    details: failures.length > 0 ? explain(ended.output) : "",
  };
}

/**
 * Returns the part of a failed run's output that is worth reading: what the failed tests printed,
 * then Deno's own list of errors. Without such a list, returns the end of the output.
 */
export function explain(output: string): string {
  const lines = output.split("\n");
  const errorsAt = lines.findIndex((line) => line.trim() === "ERRORS");
  if (errorsAt < 0) return lines.slice(-tailLines).join("\n");
  const failuresAt = lines.findIndex((line, at) => at > errorsAt && line.trim() === "FAILURES");
  const errors = lines.slice(errorsAt, failuresAt < 0 ? undefined : failuresAt);
  return [...printedByFailed(lines.slice(0, errorsAt)), ...errors].join("\n").trimEnd();
}

const tailLines = 200;

/** Output blocks end with a marker; the line after it names the test and how it ended. */
function printedByFailed(lines: readonly string[]): string[] {
  const kept: string[] = [];
  let startedAt = -1;
  for (const [at, line] of lines.entries()) {
    if (/^-+ (post-test )?output -+$/.test(line)) startedAt = at;
    if (startedAt < 0 || !/-+ (post-test )?output end -+$/.test(line)) continue;
    const verdict = lines[at + 1] ?? "";
    if (/ \.\.\. (FAILED|cancelled)/.test(verdict)) {
      kept.push(`printed by ${verdict.replace(/ \.\.\. (FAILED|cancelled).*/, "")}:`);
      kept.push(...lines.slice(startedAt + 1, at), "");
    }
    startedAt = -1;
  }
  return kept;
}

/** Returns files that threw at import or let an error escape; only Deno's output lists them. */
function brokenFiles(output: string): string[] {
  const found = [...output.matchAll(/^(?:\.\/)?(\S+) \(uncaught error\)$/gm)];
  return [...new Set(found.map(([, file = ""]) => file))];
}

/** Returns the tests that were still running when Deno was interrupted. */
function pendingTests(output: string): string[] {
  const [, list = ""] = output.split("SIGINT The following tests were pending:\n");
  return [...list.matchAll(/^(.+) => (?:\.\/)?(\S+?):\d+:\d+$/gm)].map(
    ([, name = "", file = ""]) => `${file}: ${name} (hung)`,
  );
}

function silentFiles(
  files: readonly string[],
  cases: readonly TestCase[],
  output: string,
): string[] {
  const spoken = new Set([
    ...cases.map((each) => each.file),
    ...brokenFiles(output),
    ...namedFiles(output),
  ]);
  // Without any case the run broke before its first test; the exit code says so.
  if (spoken.size === 0) return [];
  return files.filter((file) => !spoken.has(file)).map((file) => `${file}: registers no test`);
}

/**
 * Returns files that Deno's output names with their tests. The report isn't enough: it names the
 * file that registered a test, which may be a helper.
 */
function namedFiles(output: string): string[] {
  const lines = /^(?:running [1-9]\d* tests? from )?(?:\.\/)?(\S+_test\.tsx?)(?= => |$)/gm;
  return [...output.matchAll(lines)].map(([, file = ""]) => file);
}

function describe(test: TestCase): string {
  return `${test.file}: ${test.name}`;
}
