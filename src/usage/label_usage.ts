import { pushAll } from "../base/lists.ts";
import type { LabelSumStore } from "./label_sums.ts";
import { noUsage, type UsageQuery, type UsageSums, type UsageValue } from "./usage_sums.ts";

/** What callers name calls by, and no table of sums has: summed up from the rows of calls. */
export type UsageLabel = "user" | "flow" | "cohort";
export const usageLabels: readonly UsageLabel[] = ["user", "flow", "cohort"];

/** The sums of one value: those of `UsageSums` but for latencies. */
export const labelSums = [
  ...["calls", "failed", "truncated", "cancelled", "interrupted", "unpriced"] as const,
  ...["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"] as const,
  ...["reasoningTokens", "costNanos", "chargedNanos", "ownKeyNanos"] as const,
] as const;

export type LabelSum = typeof labelSums[number];

/** Sums of the calls of one hour or day by the values of a label: one number for each value. */
export interface LabelStep {
  /** The beginning of the hour or day. */
  at: Date;
  /** Empty: calls without the label. */
  values: readonly string[];
  /**
   * Whole numbers, exact up to 2^53: nine million dollars of one value and day. A sum may be absent if
   * it is zero for all values.
   */
  sums: Readonly<Partial<Record<LabelSum, readonly number[] | Float64Array>>>;
}

/** Reads rows of calls. Implemented in `src/records/store/label_days.ts`. */
export interface LabelRows {
  /** Hours or days with calls; of each the dearest values, up to `maxValuesADay`. */
  read(query: UsageQuery, label: UsageLabel): Promise<LabelStep[]>;
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

/** An hour or day that has calls, with a text that changes whenever its calls do. */
export interface StoredStep {
  at: Date;
  state: string;
}

export type StoredSteps = (query: UsageQuery) => Promise<StoredStep[]>;

const stepMs = { hour: 3_600_000, day: 86_400_000 };
/** Read in one statement, so that others get their turns between. */
const stepsAtOnce = { hour: 7 * 24, day: 7 };
/** Days whose stored sums one statement reads: calls get their turns between. */
const storedDaysAtOnce = 5;
/** Sums held in memory, as bytes of numbers; names come to about as much. */
const maxHeldBytes = 48 * 1024 * 1024;
/** Charts show the steps of few values; of more, such as a download's, nobody looks at them. */
const maxWithCosts = 100;

export interface LabelUsageDeps {
  rows: LabelRows;
  storedSteps: StoredSteps;
  /** Sums of days that are over; whatever it lacks is added up from the rows. */
  labelSums: LabelSumStore;
  maxBytes?: number;
}

/**
 * Sums by label. They are held in memory with the state of the calls they are of: what is written,
 * erased or repriced since changes the state, and is read again, of days that are over from the sums
 * that are kept in the store. Of the newest day hours are held, so that a call has one hour read again.
 */
export function createLabelUsage(deps: LabelUsageDeps): LabelUsage {
  return new HeldUsage(deps, deps.maxBytes ?? maxHeldBytes);
}

/** Sums of one hour or day: a number in each column for each slot. Columns of zeros are absent. */
interface Step {
  atMs: number;
  slots: Uint32Array;
  columns: Partial<Record<LabelSum, Float64Array>>;
}

type HeldStep = Step & { state: string; names: Names };

class HeldUsage implements LabelUsage {
  /** The one that was read first comes first. */
  readonly #steps = new Map<string, HeldStep>();
  readonly #names = new Map<string, Names>();
  #bytes = 0;

  constructor(
    readonly deps: Pick<LabelUsageDeps, "rows" | "storedSteps" | "labelSums">,
    readonly maxBytes: number,
  ) {}

  async values(query: UsageQuery, label: UsageLabel, limit: number) {
    const group = `${query.accountId} ${label}`;
    const names = this.#names.get(group) ?? new Names();
    this.#names.set(group, names);
    return await names.reading(async () =>
      dearest(names, await this.#read(query, label, names), limit)
    );
  }

  async #read(query: UsageQuery, label: UsageLabel, names: Names): Promise<Step[]> {
    const { accountId, span } = query;
    const keyOf = (atMs: number) => `${accountId} ${label} ${span} ${atMs}`;
    const found: Step[] = [];
    const lacking: StoredStep[] = [];
    const stored = await this.deps.storedSteps(query);
    for (const step of stored) {
      const held = this.#steps.get(keyOf(step.at.getTime()));
      if (held?.state === step.state) found.push(held);
      else lacking.push(step);
    }
    const newest = span === "day" ? stored.at(-1) : undefined;
    const hold = ({ at, state }: StoredStep, read: LabelStep | undefined) => {
      const atMs = at.getTime();
      const step = names.pack(atMs, read);
      found.push(step);
      this.#hold(keyOf(atMs), { ...step, state, names });
    };
    const missing: StoredStep[] = [];
    for (let at = 0; at < lacking.length; at += storedDaysAtOnce) {
      const some = lacking.slice(at, at + storedDaysAtOnce);
      const read = span === "day" ? await this.deps.labelSums.read(accountId, label, some) : [];
      for (const step of some) {
        const sums = read.find(({ at }) => at.getTime() === step.at.getTime());
        if (sums) hold(step, sums);
        else missing.push(step);
      }
    }
    for (const some of runsOf(missing, span, newest)) {
      const from = some[0]!.at;
      const to = new Date(some.at(-1)!.at.getTime() + stepMs[span]);
      if (some[0] === newest) {
        const hours = await this.#read({ ...query, from, to, span: "hour" }, label, names);
        pushAll(found, hours.map((hour) => ({ ...hour, atMs: from.getTime() })));
        continue;
      }
      const read = await this.deps.rows.read({ ...query, from, to }, label);
      for (const step of some) {
        hold(step, read.find(({ at }) => at.getTime() === step.at.getTime()));
      }
    }
    return found;
  }

  #hold(key: string, step: HeldStep): void {
    this.#forget(key);
    this.#steps.set(key, step);
    step.names.keep(step);
    this.#bytes += bytesOf(step);
    while (this.#bytes > this.maxBytes) this.#forget(this.#steps.keys().next().value!);
  }

  #forget(key: string): void {
    const step = this.#steps.get(key);
    if (!step) return;
    this.#steps.delete(key);
    step.names.release(step);
    this.#bytes -= bytesOf(step);
  }
}

/**
 * Numbers for the values of a label, so that sums of many steps are added up without looking names up.
 * A number that no held step has any more goes to another value once nobody is reading.
 */
class Names {
  /** By their numbers. */
  readonly values: string[] = [];
  readonly #slots = new Map<string, number>();
  readonly #uses: number[] = [];
  readonly #free: number[] = [];
  readonly #unused = new Set<number>();
  #readers = 0;

  async reading<T>(read: () => Promise<T>): Promise<T> {
    this.#readers++;
    try {
      return await read();
    } finally {
      if (--this.#readers === 0) this.#forgetUnused();
    }
  }

  pack(atMs: number, step: LabelStep | undefined): Step {
    if (!step) return { atMs, slots: new Uint32Array(), columns: {} };
    const slots = Uint32Array.from(step.values, (value) => this.#slotOf(value));
    const columns: Step["columns"] = {};
    for (const name of labelSums) {
      const numbers = step.sums[name];
      if (numbers instanceof Float64Array) columns[name] = numbers;
      else if (numbers?.some((one) => one !== 0)) columns[name] = Float64Array.from(numbers);
    }
    return { atMs, slots, columns };
  }

  keep({ slots }: Step): void {
    for (const slot of slots) this.#uses[slot]!++;
  }

  release({ slots }: Step): void {
    for (const slot of slots) if (--this.#uses[slot]! === 0) this.#unused.add(slot);
  }

  #slotOf(value: string): number {
    const existing = this.#slots.get(value);
    if (existing !== undefined) return existing;
    const slot = this.#free.pop() ?? this.values.length;
    this.values[slot] = value;
    this.#uses[slot] = 0;
    this.#slots.set(value, slot);
    return slot;
  }

  /** They may be of people whose calls were erased. */
  #forgetUnused(): void {
    for (const slot of this.#unused) {
      if (this.#uses[slot]! > 0) continue;
      this.#slots.delete(this.values[slot]!);
      this.values[slot] = "";
      this.#free.push(slot);
    }
    this.#unused.clear();
  }
}

/** Of a step with nothing in it too, so that their number is limited. */
function bytesOf({ slots, columns }: Step): number {
  const all = [slots, ...Object.values(columns)];
  return all.reduce((sum, numbers) => sum + numbers.byteLength, 200);
}

/** Steps that follow each other, in groups that one statement reads; the newest day alone. */
function runsOf(
  steps: readonly StoredStep[],
  span: UsageQuery["span"],
  newest: StoredStep | undefined,
): StoredStep[][] {
  const runs: StoredStep[][] = [];
  for (const step of steps) {
    const run = runs.at(-1);
    const follows = run && step.at.getTime() - run.at(-1)!.at.getTime() === stepMs[span];
    if (follows && step !== newest && run.length < stepsAtOnce[span]) run.push(step);
    else runs.push([step]);
  }
  return runs;
}

function dearest(names: Names, steps: readonly Step[], limit: number) {
  const [calls, costs] = [totals(names, steps, "calls"), totals(names, steps, "costNanos")];
  const nameOf = (slot: number) => names.values[slot]!;
  const found: number[] = [];
  for (let slot = 0; slot < calls.length; slot++) {
    if (calls[slot]! > 0) found.push(slot);
  }
  const shown = firstOf(
    found,
    limit,
    (a, b) => costs[b]! - costs[a]! || calls[b]! - calls[a]! || (nameOf(a) < nameOf(b) ? -1 : 1),
  );
  const values = shown.map((slot): Shown => ({
    ...noUsage,
    value: nameOf(slot),
    costs: new Map(),
  }));
  addSums(names, steps, shown, values);
  return { values, all: found.length };
}

/** By number of the value. */
function totals(names: Names, steps: readonly Step[], sum: LabelSum): Float64Array {
  const all = new Float64Array(names.values.length);
  for (const { slots, columns } of steps) {
    const column = columns[sum];
    if (!column) continue;
    for (let at = 0; at < slots.length; at++) all[slots[at]!]! += column[at]!;
  }
  return all;
}

/** Only of the values that are shown: to add up all of each sum would take five times as long. */
function addSums(
  names: Names,
  steps: readonly Step[],
  shown: readonly number[],
  values: readonly Shown[],
): void {
  /** From 1 on; 0 of a value that is not shown. */
  const ranks = new Int32Array(names.values.length);
  for (const [at, slot] of shown.entries()) ranks[slot] = at + 1;
  const hasCosts = shown.length <= maxWithCosts;
  const all = labelSums.map(() => new Float64Array(shown.length));
  for (const { atMs, slots, columns } of steps) {
    for (let at = 0; at < slots.length; at++) {
      const rank = ranks[slots[at]!]! - 1;
      if (rank < 0) continue;
      for (const [nth, sum] of labelSums.entries()) all[nth]![rank]! += columns[sum]?.[at] ?? 0;
      if (!hasCosts) continue;
      const { costs } = values[rank]!;
      costs.set(atMs, (costs.get(atMs) ?? 0n) + BigInt(columns.costNanos?.[at] ?? 0));
    }
  }
  for (const [nth, sum] of labelSums.entries()) {
    for (const [at, value] of values.entries()) setSum(value, sum, all[nth]![at]!);
  }
}

/** The first ones in an order, without sorting all: of a hundred thousand that takes ten times as long. */
function firstOf(
  all: readonly number[],
  limit: number,
  compare: (a: number, b: number) => number,
): number[] {
  const first: number[] = [];
  let last: number | undefined;
  for (const one of all) {
    if (last !== undefined && compare(one, last) > 0) continue;
    first.push(one);
    if (first.length < 2 * limit) continue;
    first.sort(compare);
    first.length = limit;
    last = first.at(-1);
  }
  return first.sort(compare).slice(0, limit);
}

type Shown = UsageValue & { costs: Map<number, bigint> };

function setSum(shown: UsageSums, name: LabelSum, sum: number): void {
  Object.assign(shown, { [name]: typeof noUsage[name] === "bigint" ? BigInt(sum) : sum });
}
