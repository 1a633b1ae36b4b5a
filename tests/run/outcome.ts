import type { FileTime } from "./slowest.ts";

/** The result of one step of the gate. A static step (format, lint…) counts as one test. */
export interface Outcome {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly seconds: number;
  /** Processor time; undefined for a step that starts no process. */
  readonly cpuSeconds?: number;
  /** One line for each failure and each skip, for the list at the end. */
  readonly notes: readonly string[];
  /** Output that explains the failures; empty when there are none. */
  readonly details: string;
  /** The slowest of many test files. */
  readonly slowest?: readonly FileTime[];
}

export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Adds up outcomes. In CI a skip is a failure, since nobody is there to read the reason. */
export function total(outcomes: readonly Outcome[], inCi: boolean): Totals {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for (const outcome of outcomes) {
    sum.passed += outcome.passed;
    sum.failed += outcome.failed + (inCi ? outcome.skipped : 0);
    sum.skipped += inCi ? 0 : outcome.skipped;
  }
  return sum;
}

/** Throws if no group has a test that fits: a misspelt word of a name would pass otherwise. */
export function requireMatch(groups: readonly Outcome[]): void {
  if (groups.some(({ passed, failed, skipped }) => passed + failed + skipped > 0)) return;
  throw new Error("No test fits these arguments.");
}

/** The last line of a run, which other programs read: `N passed, N failed[, N skipped]`. */
export function totalsLine(totals: Totals): string {
  const line = `${totals.passed} passed, ${totals.failed} failed`;
  return totals.skipped > 0 ? `${line}, ${totals.skipped} skipped` : line;
}

/** One line of the running table. */
export function outcomeLine(outcome: Outcome): string {
  const state = outcome.failed > 0 ? "FAILED" : outcome.passed > 0 ? "ok" : "skipped";
  const counts = outcome.passed + outcome.failed + outcome.skipped === 1
    ? ""
    : totalsLine({ ...outcome });
  return [
    outcome.name.padEnd(14),
    state.padEnd(8),
    `${outcome.seconds.toFixed(1)} s`.padStart(8),
    outcome.cpuSeconds === undefined ? "" : `${outcome.cpuSeconds.toFixed(0)} CPU s`.padStart(13),
    counts && `  ${counts}`,
  ].join("").trimEnd();
}
