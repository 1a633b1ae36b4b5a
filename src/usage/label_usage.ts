import { LatencyHistogram } from "./latency_histogram.ts";
import { noUsage, type UsageQuery, type UsageSums, type UsageValue } from "./usage_sums.ts";

/** What callers name calls by, and no table of sums has: summed up from the rows of calls. */
export type UsageLabel = "user" | "flow" | "cohort";
export const usageLabels: readonly UsageLabel[] = ["user", "flow", "cohort"];

/** Sums of the calls of one hour or day that have one value of a label; without latencies. */
export interface LabelSums extends Omit<UsageSums, "latency"> {
  /** The beginning of the hour or day. */
  at: Date;
  /** Empty: calls without the label. */
  value: string;
}

/** Reads rows of calls. Implemented in `src/records/store/label_days.ts`. */
export interface LabelRows {
  /** The dearest values of each hour or day, up to `maxValuesADay`. */
  read(query: UsageQuery, label: UsageLabel): Promise<LabelSums[]>;
}

/** Values of one day beyond these, the cheapest, are in no sum by label. */
export const maxValuesADay = 20_000;

export interface LabelUsage {
  /** Values of a label by cost, then by calls; `all` is their number. Erased calls are in none. */
  values(
    query: UsageQuery,
    label: UsageLabel,
    limit: number,
  ): Promise<{ values: UsageValue[]; all: number }>;
}

/** Days that have calls, each with a text that changes whenever the day's calls do. */
export type StoredDays = (query: UsageQuery) => Promise<{ at: Date; state: string }[]>;

/** Days read in one statement, so that others get their turns between. */
const daysAtOnce = 7;
const dayMs = 86_400_000;
/** Sums kept in memory at most. */
const maxKept = 200_000;

/**
 * Sums by label. A day's rows are read once and kept in memory with the state of the day's calls:
 * what is written, erased or repriced since changes the state, and the day is read again.
 */
export function createLabelUsage(deps: { rows: LabelRows; storedDays: StoredDays }): LabelUsage {
  return new KeptDays(deps.rows, deps.storedDays);
}

class KeptDays implements LabelUsage {
  readonly #days = new Map<string, { state: string; sums: readonly LabelSums[] }>();
  #kept = 0;

  constructor(readonly rows: LabelRows, readonly storedDays: StoredDays) {}

  async values(query: UsageQuery, label: UsageLabel, limit: number) {
    const sums = query.span === "hour"
      ? [await this.rows.read(query, label)]
      : await this.#readDays(query, label);
    return dearest(sums, limit);
  }

  async #readDays(query: UsageQuery, label: UsageLabel): Promise<(readonly LabelSums[])[]> {
    const days = await this.storedDays(query);
    const keyOf = (atMs: number) => `${query.accountId} ${label} ${atMs}`;
    const found = new Map<number, readonly LabelSums[]>();
    const missing: typeof days = [];
    for (const day of days) {
      const kept = this.#days.get(keyOf(day.at.getTime()));
      if (kept?.state === day.state) found.set(day.at.getTime(), kept.sums);
      else missing.push(day);
    }
    for (const some of runsOf(missing)) {
      const [from, to] = [some[0]!.at, new Date(some.at(-1)!.at.getTime() + dayMs)];
      const read = await this.rows.read({ ...query, from, to }, label);
      for (const { at, state } of some) {
        const sums = read.filter((one) => one.at.getTime() === at.getTime());
        found.set(at.getTime(), sums);
        this.#keep(keyOf(at.getTime()), { state, sums });
      }
    }
    return [...found.values()];
  }

  #keep(key: string, day: { state: string; sums: readonly LabelSums[] }): void {
    this.#forget(key);
    this.#days.set(key, day);
    this.#kept += day.sums.length + 1;
    while (this.#kept > maxKept) this.#forget(this.#days.keys().next().value!);
  }

  #forget(key: string): void {
    const day = this.#days.get(key);
    if (!day) return;
    this.#days.delete(key);
    this.#kept -= day.sums.length + 1;
  }
}

/** Days that follow each other, in groups that one statement reads. */
function runsOf<T extends { at: Date }>(days: readonly T[]): T[][] {
  const runs: T[][] = [];
  for (const day of days) {
    const run = runs.at(-1);
    const follows = run && day.at.getTime() - run.at(-1)!.at.getTime() === dayMs;
    if (follows && run.length < daysAtOnce) run.push(day);
    else runs.push([day]);
  }
  return runs;
}

function dearest(days: readonly (readonly LabelSums[])[], limit: number) {
  const values = new Map<string, UsageValue & { costs: Map<number, bigint> }>();
  for (const sums of days) {
    for (const { at, value, ...more } of sums) {
      let all = values.get(value);
      if (!all) {
        all = { ...noUsage, latency: new LatencyHistogram([]), value, costs: new Map() };
        values.set(value, all);
      }
      for (const name of numberNames) all[name] += more[name];
      for (const name of bigintNames) all[name] += more[name];
      const atMs = at.getTime();
      all.costs.set(atMs, (all.costs.get(atMs) ?? 0n) + more.costNanos);
    }
  }
  const sorted = [...values.values()].sort((a, b) =>
    a.costNanos === b.costNanos
      ? b.calls - a.calls || (a.value < b.value ? -1 : 1)
      : a.costNanos < b.costNanos
      ? 1
      : -1
  );
  return { values: sorted.slice(0, limit), all: sorted.length };
}

const numberNames = [
  ...["calls", "failed", "truncated", "cancelled", "interrupted", "unpriced"] as const,
] as const;
const bigintNames = [
  ...["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"] as const,
  ...["reasoningTokens", "costNanos", "chargedNanos", "ownKeyNanos"] as const,
] as const;
