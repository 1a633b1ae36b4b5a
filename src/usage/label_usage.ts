import { chunksOf, pushAll } from "../base/lists.ts";
import {
  type LabelStep,
  type LabelSum,
  stepMs,
  type StepsOf,
  type StoredStep,
  type StoredSteps,
  type UsageLabel,
} from "./label_step.ts";
import type { LabelSumStore } from "./label_sums.ts";
import { halvesOf, rankSums, recordSums } from "./packed_step.ts";
import { HeldTotals, type RankTotals } from "./held_totals.ts";
import { type HeldSums, ShownValues } from "./shown_values.ts";
import type { UsageQuery } from "./usage_sums.ts";
import { ValueSlots } from "./value_slots.ts";

/** Reads rows of calls. Implemented in `src/records/store/label_days.ts`. */
export interface LabelRows {
  /** Reads hours or days with calls, each with its costliest values, up to `maxValuesADay`. */
  read(query: UsageQuery, label: UsageLabel): Promise<LabelStep[]>;
}

/** The most values of one day; sums by label leave out the others, which are the cheapest. */
export const maxValuesADay = 20_000;

/** Steps that one statement reads from the calls: other work gets its turn in between. */
const stepsAtOnce = { hour: 7 * 24, day: 7 };
/** Steps whose stored sums one statement reads: calls get their turn in between. */
const storedStepsAtOnce = { hour: 72, day: 10 };
/** Bytes of sums held in memory, including the slots of their values. */
const maxHeldBytes = 48 * 1024 * 1024;
/** If stored steps change while they are read, the last attempt reads from the calls instead. */
const maxAttempts = 3;

export interface LabelUsageDeps {
  rows: LabelRows;
  storedSteps: StoredSteps;
  /** Sums of past hours and days; what it lacks is added up from the rows. */
  labelSums: LabelSumStore;
  maxBytes?: number;
}

interface HeldStep {
  step: HeldSums;
  state: string;
  slots: ValueSlots;
  bytes: number;
}

/**
 * The sums by label. The sums that rank values are held in memory, together with the state of the
 * calls that they are of. Calls that are written, erased or repriced later change the state, and
 * the step is read again: a past step from the stored sums, others from the calls. The newest day
 * is held by hours, so that a new call makes one hour be read again. Names and the other sums are
 * read only for the values that are shown.
 */
export class LabelUsage {
  /** In the order of reading, the oldest first. */
  readonly #steps = new Map<string, HeldStep>();
  readonly #slots = new Map<string, ValueSlots>();
  readonly #totals = new Map<ValueSlots, HeldTotals>();
  #bytes = 0;

  readonly #deps: LabelUsageDeps;

  constructor(deps: LabelUsageDeps) {
    this.#deps = deps;
  }

  /**
   * Returns up to `limit` values of a label, sorted by cost, then by calls; `all` is the number of
   * all its values. Erased calls don't count.
   */
  async values(query: UsageQuery, label: UsageLabel, limit: number) {
    const group = `${query.accountId} ${label}`;
    const slots = this.#slots.getOrInsertComputed(group, () => new ValueSlots());
    const of = { accountId: query.accountId, label, span: query.span };
    try {
      return await slots.reading(
        () => this.#heldOf(slots),
        () => this.#values(query, of, slots, limit),
      );
    } finally {
      this.#shrink();
    }
  }

  async #values(query: UsageQuery, of: StepsOf, slots: ValueSlots, limit: number) {
    for (let attempt = 1;; attempt++) {
      const steps = await this.#read(query, of, slots, attempt < maxAttempts);
      const { shown, all } = dearest(slots, this.#totalsOf(slots, steps, query), limit);
      const values = await new ShownValues(this.#deps.labelSums, slots, steps, shown).read();
      if (values) {
        this.#weigh(steps);
        return { values, all };
      }
      for (const { rest } of steps) if (rest.isStored) this.#forget(keyOf(rest, rest.at));
    }
  }

  #totalsOf(slots: ValueSlots, steps: readonly HeldSums[], { span }: UsageQuery): RankTotals {
    const totals = this.#totals.getOrInsertComputed(slots, () => new HeldTotals());
    // The newest day's hours are excluded: each read makes new objects for them.
    return totals.of(slots.length, steps, ({ rest }) => rest.isStored && rest.span === span);
  }

  *#heldOf(slots: ValueSlots): Iterable<Uint32Array> {
    for (const held of this.#steps.values()) if (held.slots === slots) yield held.step.slots;
  }

  async #read(
    query: UsageQuery,
    of: StepsOf,
    slots: ValueSlots,
    fromStored: boolean,
  ): Promise<HeldSums[]> {
    const found: HeldSums[] = [];
    const lacking: StoredStep[] = [];
    const stored = await this.#deps.storedSteps(query);
    for (const one of stored) {
      const held = this.#steps.get(keyOf(of, one.at));
      if (held?.state === one.state) found.push(held.step);
      else lacking.push(one);
    }
    const hold = (one: StoredStep, step: HeldSums) => {
      found.push(step);
      this.#hold(keyOf(of, one.at), { step, state: one.state, slots, bytes: 0 });
    };
    const missing = fromStored ? await this.#readStored(of, lacking, slots, hold) : lacking;
    const newest = of.span === "day" ? stored.at(-1) : undefined;
    for (const some of runsOf(missing, of.span, newest)) {
      const from = some[0]!.at;
      const to = new Date(some.at(-1)!.at.getTime() + stepMs[of.span]);
      if (some[0] === newest) {
        const day = { ...query, from, to, span: "hour" as const };
        const hours = await this.#read(day, { ...of, span: "hour" }, slots, fromStored);
        pushAll(found, hours.map((hour) => ({ ...hour, atMs: from.getTime() })));
        continue;
      }
      const read = await this.#deps.rows.read({ ...query, from, to }, of.label);
      for (const one of some) {
        const sums = read.find(({ at }) => at.getTime() === one.at.getTime());
        hold(one, wholeStep(one.at, sums, slots));
      }
    }
    return found;
  }

  /** Reads steps from the stored sums; returns those that are missing there. */
  async #readStored(
    of: StepsOf,
    steps: readonly StoredStep[],
    slots: ValueSlots,
    hold: (one: StoredStep, step: HeldSums) => void,
  ): Promise<StoredStep[]> {
    const missing: StoredStep[] = [];
    await Promise.all(
      chunksOf(steps, storedStepsAtOnce[of.span]).map(async (some) => {
        const read = await this.#deps.labelSums.read(of, some);
        slots.reserve(read.reduce((sum, { ids }) => sum + ids.length / 2, 0));
        for (const one of some) {
          const found = read.find(({ at }) => at.getTime() === one.at.getTime());
          if (!found) {
            missing.push(one);
            continue;
          }
          const { ids, sums, layout, all } = found;
          hold(one, {
            ...{ atMs: one.at.getTime(), slots: slots.slotsOf(ids), sums },
            rest: { ...of, ...one, isStored: true, layout, all, records: new Map() },
          });
        }
      }),
    );
    return missing.sort((a, b) => a.at.getTime() - b.at.getTime());
  }

  #hold(key: string, held: HeldStep): void {
    this.#forget(key);
    held.bytes = sizeOf(held.step);
    this.#steps.set(key, held);
    held.slots.hold();
    this.#bytes += held.bytes;
  }

  #forget(key: string): void {
    const held = this.#steps.get(key);
    if (!held) return;
    this.#steps.delete(key);
    // The totals would keep the step in memory.
    if (this.#totals.get(held.slots)?.has(held.step)) this.#totals.delete(held.slots);
    held.slots.release(held.step.slots.length);
    this.#bytes -= held.bytes;
  }

  /** Updates the steps' sizes: they may hold more records now. */
  #weigh(steps: readonly HeldSums[]): void {
    for (const { rest } of steps) {
      const held = rest.isStored ? this.#steps.get(keyOf(rest, rest.at)) : undefined;
      if (!held) continue;
      this.#bytes -= held.bytes;
      held.bytes = sizeOf(held.step);
      this.#bytes += held.bytes;
    }
  }

  /**
   * Forgets the oldest steps until the rest fits. Slots take as much memory as sums; those of an
   * account and label are dropped with its last step.
   */
  #shrink(): void {
    for (;;) {
      let bytes = this.#bytes;
      for (const [group, slots] of this.#slots) {
        if (!slots.isIdle) {
          bytes += slots.bytes + (this.#totals.get(slots)?.bytes ?? 0);
          continue;
        }
        this.#slots.delete(group);
        this.#totals.delete(slots);
      }
      const oldest = this.#steps.keys().next().value;
      if (oldest === undefined || bytes <= (this.#deps.maxBytes ?? maxHeldBytes)) return;
      this.#forget(oldest);
    }
  }
}

function keyOf({ accountId, label, span }: StepsOf, at: Date): string {
  return `${accountId} ${label} ${span} ${at.getTime()}`;
}

function wholeStep(at: Date, read: LabelStep | undefined, slots: ValueSlots): HeldSums {
  const { ids, values, sums } = read ?? { ids: new Uint8Array(), values: [], sums: {} };
  const numbers = (name: LabelSum) => Float64Array.from(sums[name] ?? values.map(() => 0));
  const others = recordSums.filter((name) => sums[name]?.some((one) => one !== 0));
  const rest = Object.fromEntries(others.map((name) => [name, numbers(name)]));
  return {
    ...{ atMs: at.getTime(), slots: slots.slotsOf(halvesOf(ids)) },
    sums: rankSums(numbers("calls"), numbers("costNanos")),
    rest: { isStored: false, values, sums: rest },
  };
}

/** Returns the size of a step, not 0 for an empty one, so that the number of steps is limited. */
function sizeOf({ slots, sums, rest }: HeldSums): number {
  const least = 500 + slots.length * 9 + sums.more.size * 100;
  if (rest.isStored) return least + rest.records.size * 300 + (rest.all ? 4096 : 0);
  const names = rest.values.reduce((sum, { length }) => sum + length, 0);
  return least + 8 * slots.length * Object.keys(rest.sums).length + names;
}

/** Groups consecutive steps for one statement each; the newest day is a group by itself. */
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

/** Returns the slots of the first values by cost, then by calls. */
function dearest(slots: ValueSlots, { calls, costs }: RankTotals, limit: number) {
  const found: number[] = [];
  for (let slot = 0; slot < calls.length; slot++) {
    if (calls[slot]! > 0) found.push(slot);
  }
  const shown = firstOf(
    found,
    limit,
    (a, b) => costs[b]! - costs[a]! || calls[b]! - calls[a]! || slots.compare(a, b),
  );
  return { shown, all: found.length };
}

/**
 * Returns the first ones in an order. Sorting all takes ten times as long for a hundred thousand.
 */
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
