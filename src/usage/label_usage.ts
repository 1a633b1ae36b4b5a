import { noUsage, type UsageQuery, type UsageSums, type UsageValue } from "./usage_sums.ts";

/** What callers name calls by, and no table of sums has: summed up from the rows of calls. */
export type UsageLabel = "user" | "flow" | "cohort";
export const usageLabels: readonly UsageLabel[] = ["user", "flow", "cohort"];

/** Sums of the calls of one hour or day that have one value of a label; without latencies. */
export interface DayLabelSums extends Omit<UsageSums, "latency"> {
  /** The beginning of the hour or day. */
  at: Date;
  /** Empty: calls without the label. */
  value: string;
}

/** Reads rows of calls. Implemented in `src/records/store/label_days.ts`. */
export interface LabelRows {
  /** The dearest values of each hour or day, up to `maxValuesADay`. */
  read(query: UsageQuery, label: UsageLabel): Promise<DayLabelSums[]>;
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
/** Values of days held in memory at most: about 130 bytes each. */
const maxHeld = 200_000;
/** Results held for who looks again while nothing has changed. */
const maxResults = 20;
/** Charts show the steps of few values; of more, such as a download's, nobody looks at them. */
const maxWithCosts = 100;

/**
 * Sums by label. A day's rows are read once and held in memory with the state of the day's calls:
 * what is written, erased or repriced since changes the state, and the day is read again.
 */
export function createLabelUsage(deps: { rows: LabelRows; storedDays: StoredDays }): LabelUsage {
  return new HeldDays(deps.rows, deps.storedDays);
}

/** One hour or day: its values, and for each as many numbers as `sumNames` has. */
interface Packed {
  atMs: number;
  values: readonly string[];
  sums: Float64Array;
}

const sumNames = [
  ...["calls", "failed", "truncated", "cancelled", "interrupted", "unpriced"] as const,
  ...["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"] as const,
  ...["reasoningTokens", "costNanos", "chargedNanos", "ownKeyNanos"] as const,
] as const;
const width = sumNames.length;
const costAt = sumNames.indexOf("costNanos");
const callsAt = sumNames.indexOf("calls");

class HeldDays implements LabelUsage {
  readonly #days = new Map<string, Packed & { state: string }>();
  #held = 0;
  /** What was shown of late, by the states of its days. */
  readonly #latest = new Map<string, { values: UsageValue[]; all: number }>();

  constructor(readonly rows: LabelRows, readonly storedDays: StoredDays) {}

  async values(query: UsageQuery, label: UsageLabel, limit: number) {
    if (query.span === "hour") return dearest(pack(await this.rows.read(query, label)), limit);
    const days = await this.storedDays(query);
    const key = JSON.stringify([query.accountId, label, limit, days]);
    const latest = this.#latest.get(key);
    if (latest) return latest;
    const result = dearest(await this.#readDays(query, label, days), limit);
    if (limit > maxWithCosts) return result;
    this.#latest.set(key, result);
    if (this.#latest.size > maxResults) {
      this.#latest.delete(this.#latest.keys().next().value!);
    }
    return result;
  }

  async #readDays(
    query: UsageQuery,
    label: UsageLabel,
    days: Awaited<ReturnType<StoredDays>>,
  ): Promise<Packed[]> {
    const keyOf = (atMs: number) => `${query.accountId} ${label} ${atMs}`;
    const found: Packed[] = [];
    const missing: { at: Date; state: string }[] = [];
    for (const day of days) {
      const held = this.#days.get(keyOf(day.at.getTime()));
      if (held?.state === day.state) found.push(held);
      else missing.push(day);
    }
    for (const some of runsOf(missing)) {
      const [from, to] = [some[0]!.at, new Date(some.at(-1)!.at.getTime() + dayMs)];
      const read = pack(await this.rows.read({ ...query, from, to }, label));
      for (const { at, state } of some) {
        const atMs = at.getTime();
        const none = { atMs, values: [], sums: new Float64Array() };
        const day = read.find((one) => one.atMs === atMs) ?? none;
        found.push(day);
        this.#hold(keyOf(atMs), { ...day, state });
      }
    }
    return found;
  }

  #hold(key: string, day: Packed & { state: string }): void {
    this.#forget(key);
    this.#days.set(key, day);
    this.#held += day.values.length + 1;
    while (this.#held > maxHeld) this.#forget(this.#days.keys().next().value!);
  }

  #forget(key: string): void {
    const day = this.#days.get(key);
    if (!day) return;
    this.#days.delete(key);
    this.#held -= day.values.length + 1;
  }
}

/** Whole numbers stay exact in these up to 2^53: nine million dollars of one value and day. */
function pack(sums: readonly DayLabelSums[]): Packed[] {
  const byTime = new Map<number, DayLabelSums[]>();
  for (const one of sums) {
    const atMs = one.at.getTime();
    const some = byTime.get(atMs);
    if (some) some.push(one);
    else byTime.set(atMs, [one]);
  }
  return [...byTime].map(([atMs, some]) => {
    const numbers = new Float64Array(some.length * width);
    for (const [slot, one] of some.entries()) {
      for (const [at, name] of sumNames.entries()) numbers[slot * width + at] = Number(one[name]);
    }
    return { atMs, values: some.map(({ value }) => value), sums: numbers };
  });
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

function dearest(packed: readonly Packed[], limit: number) {
  const slots = new Map<string, number>();
  let totals = new Float64Array(1024 * width);
  for (const { values, sums } of packed) {
    for (let one = 0; one < values.length; one++) {
      let slot = slots.get(values[one]!);
      if (slot === undefined) {
        slot = slots.size;
        slots.set(values[one]!, slot);
        if ((slot + 1) * width > totals.length) totals = grown(totals);
      }
      for (let at = 0; at < width; at++) totals[slot * width + at]! += sums[one * width + at]!;
    }
  }
  const of = (slot: number, at: number) => totals[slot * width + at]!;
  const sorted = [...slots].sort(([a, one], [b, other]) =>
    of(other, costAt) - of(one, costAt) || of(other, callsAt) - of(one, callsAt) || (a < b ? -1 : 1)
  );
  const shown = sorted.slice(0, limit).map(([value, slot]) => unpack(value, totals, slot));
  if (shown.length <= maxWithCosts) addCosts(shown, packed);
  return { values: shown, all: sorted.length };
}

function grown(numbers: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(numbers.length * 2);
  larger.set(numbers);
  return larger;
}

type Shown = UsageValue & { costs: Map<number, bigint> };

function unpack(value: string, totals: Float64Array, slot: number): Shown {
  const shown: Record<string, unknown> = { ...noUsage, value, costs: new Map() };
  for (const [at, name] of sumNames.entries()) {
    const sum = totals[slot * width + at]!;
    shown[name] = typeof noUsage[name] === "bigint" ? BigInt(sum) : sum;
  }
  return shown as unknown as Shown;
}

function addCosts(shown: readonly Shown[], packed: readonly Packed[]): void {
  const byValue = new Map(shown.map((one) => [one.value, one]));
  for (const { atMs, values, sums } of packed) {
    for (let one = 0; one < values.length; one++) {
      byValue.get(values[one]!)?.costs.set(atMs, BigInt(sums[one * width + costAt]!));
    }
  }
}
