import { chunksOf, valuesByName } from "../base/lists.ts";
import { Turns } from "../base/turns.ts";
import {
  type LabelStep,
  type LabelSum,
  labelSums,
  type StepsOf,
  type StoredStep,
} from "./label_step.ts";
import type { LabelSumStore, StepSlice, StoredSums } from "./label_sums.ts";
import {
  addRecordTo,
  type LabelRecord,
  type RankSums,
  readRecord,
  recordBytes,
  recordSums,
} from "./packed_step.ts";
import { maxWithCosts, noUsage, usageBy, type UsageValue } from "./usage_sums.ts";
import type { ValueSlots } from "./value_slots.ts";

/** Sums of one hour or day: one number for each of `slots`. */
export interface HeldSums {
  atMs: number;
  slots: Uint32Array;
  sums: RankSums;
  /** The other sums and the names. */
  rest: WholeRest | StoredRest;
}

/** The rest of a step that was added up from the calls. */
type WholeRest = Pick<LabelStep, "values" | "sums"> & { isStored: false };

/** The rest of a step that is in the store. */
export interface StoredRest extends StepsOf, StoredStep {
  isStored: true;
  layout: Uint8Array;
  all: StoredSums["all"];
  /** Records of values that were shown, by position. */
  records: Map<number, HeldRecord>;
}

type HeldRecord = LabelRecord & { value?: string };

/**
 * The most records that are read one by one, and held; for more, e.g. a download, whole steps are.
 */
const maxSlices = 1000;
/** Steps whose records one statement reads, when whole steps are read. */
const wholeAtOnce = 10;
/** Records, names or values that are handled at once; calls get their turn in between. */
const handledAtOnce = 500;
type ShownValue = UsageValue & { costs: Map<number, bigint> };

/** The position of a shown value in a step, and its rank among the shown values. */
interface Position {
  at: number;
  rank: number;
}

/**
 * Reads all sums and the names of the values that are shown. Adding up all sums of every value
 * would take five times as long.
 */
export class ShownValues {
  /** By sum and rank. */
  readonly #sums: Readonly<Record<LabelSum, Float64Array>>;
  /** Those of `#sums` that `recordSums` names, in that order. */
  readonly #columns: readonly Float64Array[];
  readonly #costs: readonly Map<number, bigint>[];
  readonly #names: (string | undefined)[];
  /** Where to read the names that aren't known yet, by rank. */
  readonly #unnamed = new Map<number, { rest: StoredRest; record: HeldRecord }>();

  constructor(
    readonly store: LabelSumStore,
    readonly slots: ValueSlots,
    readonly steps: readonly HeldSums[],
    readonly shown: readonly number[],
    readonly turns = new Turns(),
  ) {
    this.#sums = valuesByName(labelSums, () => new Float64Array(shown.length));
    this.#columns = recordSums.map((sum) => this.#sums[sum]);
    this.#costs = shown.length > maxWithCosts ? [] : shown.map(() => new Map());
    this.#names = shown.map(() => undefined);
  }

  /** Returns the values in order; undefined if a stored step changed meanwhile. */
  async read(): Promise<ShownValue[] | undefined> {
    /** Ranks by slot, from 1 on; 0: not shown. */
    const ranks = new Int32Array(this.slots.length);
    for (const [at, slot] of this.shown.entries()) ranks[slot] = at + 1;
    const inStore: { rest: StoredRest; positions: Position[] }[] = [];
    for (const step of this.steps) {
      const positions: Position[] = [];
      for (let at = 0; at < step.slots.length; at++) {
        const rank = ranks[step.slots[at]!]! - 1;
        if (rank >= 0) positions.push({ at, rank });
      }
      this.#addRanks(step, positions);
      if (!step.rest.isStored) this.#addWhole(step.rest, positions);
      else if (positions.length > 0) inStore.push({ rest: step.rest, positions });
      await this.turns.pause();
    }
    if (!await this.#addStored(inStore) || !await this.#readNames()) return undefined;
    return await this.#values();
  }

  #addRanks(
    { atMs, sums: { calls, costNanos, more } }: HeldSums,
    positions: readonly Position[],
  ): void {
    for (const { at, rank } of positions) {
      const added = more.get(at);
      const cost = costNanos[at]! + (added?.costNanos ?? 0);
      this.#sums.calls[rank]! += calls[at]! + (added?.calls ?? 0);
      this.#sums.costNanos[rank]! += cost;
      const costs = this.#costs[rank];
      costs?.set(atMs, (costs.get(atMs) ?? 0n) + BigInt(cost));
    }
  }

  #addWhole({ values, sums }: WholeRest, positions: readonly Position[]): void {
    for (const { at, rank } of positions) this.#names[rank] ??= values[at]!;
    for (const sum of recordSums) {
      const column = sums[sum];
      if (!column) continue;
      for (const { at, rank } of positions) this.#sums[sum][rank]! += column[at]!;
    }
  }

  /** Reads few records one by one, and holds them; reads many as parts of whole steps. */
  async #addStored(
    inStore: readonly { rest: StoredRest; positions: Position[] }[],
  ): Promise<boolean> {
    const lacking: { rest: StoredRest; at: number }[] = [];
    for (const { rest, positions } of inStore) {
      if (lacking.length > maxSlices) break;
      await this.#inTurns(positions, ({ at }) => {
        if (!recordOf(rest, at)) lacking.push({ rest, at });
      });
    }
    if (lacking.length <= maxSlices) {
      if (!await this.#readRecords(lacking)) return false;
      for (const { rest, positions } of inStore) {
        await this.#inTurns(positions, ({ at, rank }) => {
          this.#addRecord(rest, recordOf(rest, at)!, rank);
        });
      }
      return true;
    }
    for (const some of chunksOf(inStore, wholeAtOnce)) {
      const all = await this.#slices("records", some.map(({ rest }) => ({ rest, from: 0 })));
      for (const [nth, { rest, positions }] of some.entries()) {
        const bytes = all[nth];
        if (!bytes) return false;
        const length = recordBytes(rest.layout);
        await this.#inTurns(positions, ({ at, rank }) => {
          const record = { layout: rest.layout, bytes, from: at * length };
          addRecordTo(this.#columns, rank, record);
          if (this.#names[rank] !== undefined || this.#unnamed.has(rank)) return;
          this.#unnamed.set(rank, { rest, record: readRecord(rest.layout, bytes, record.from) });
        });
      }
    }
    return true;
  }

  async #readRecords(lacking: readonly { rest: StoredRest; at: number }[]): Promise<boolean> {
    const slices = await this.#slices(
      "records",
      lacking.map(({ rest, at }) => {
        const length = recordBytes(rest.layout);
        return { rest, from: at * length, length };
      }),
    );
    for (const [nth, { rest, at }] of lacking.entries()) {
      const bytes = slices[nth];
      if (!bytes) return false;
      rest.records.set(at, readRecord(rest.layout, bytes, 0));
    }
    return true;
  }

  #addRecord(rest: StoredRest, record: HeldRecord, rank: number): void {
    const columns = this.#columns;
    for (let nth = 0; nth < columns.length; nth++) columns[nth]![rank]! += record.sums[nth]!;
    this.#names[rank] ??= record.value;
    if (this.#names[rank] === undefined) this.#unnamed.set(rank, { rest, record });
  }

  async #readNames(): Promise<boolean> {
    const wanted = [...this.#unnamed].filter(([rank]) => this.#names[rank] === undefined);
    const decoder = new TextDecoder();
    if (wanted.length <= maxSlices) {
      const slices = await this.#slices(
        "names",
        wanted.map(([_, { rest, record }]) => ({ rest, ...record.name })),
      );
      for (const [nth, [rank, { record }]] of wanted.entries()) {
        if (!slices[nth]) return false;
        this.#names[rank] = record.value = decoder.decode(slices[nth]);
      }
      return true;
    }
    const steps = [...Map.groupBy(wanted, ([_, { rest }]) => rest)];
    for (const some of chunksOf(steps, wholeAtOnce)) {
      const all = await this.#slices("names", some.map(([rest]) => ({ rest, from: 0 })));
      for (const [nth, [_, ofStep]] of some.entries()) {
        const bytes = all[nth];
        if (!bytes) return false;
        await this.#inTurns(ofStep, ([rank, { record: { name: { from, length } } }]) => {
          this.#names[rank] = decoder.decode(bytes.subarray(from, from + length));
        });
      }
    }
    return true;
  }

  /** Reads slices, in the order of `wanted`, by one statement for hours and one for days. */
  async #slices(
    column: "records" | "names",
    wanted: readonly { rest: StoredRest; from: number; length?: number }[],
  ): Promise<(Uint8Array | undefined)[]> {
    const found = wanted.map((): Uint8Array | undefined => undefined);
    const bySpan = Map.groupBy(wanted.entries(), ([_, { rest }]) => rest.span);
    await Promise.all([...bySpan.values()].map(async (ofSpan) => {
      const slices = ofSpan.map(([_, { rest: { at, state }, ...part }]): StepSlice => ({
        ...{ at, state, ...part },
      }));
      const read = await this.store.slices(ofSpan[0]![1].rest, column, slices);
      for (const [nth, [at]] of ofSpan.entries()) found[at] = read[nth];
    }));
    return found;
  }

  async #values(): Promise<ShownValue[]> {
    const sumOf = (name: LabelSum, rank: number) => this.#sums[name][rank]!;
    const values: ShownValue[] = [];
    await this.#inTurns(this.shown, () => {
      const rank = values.length;
      values.push({
        ...usageBy(
          (name) => sumOf(name, rank),
          (name) => BigInt(sumOf(name, rank)),
          noUsage.latency,
        ),
        ...{ value: this.#names[rank]!, costs: this.#costs[rank] ?? new Map() },
      });
    });
    // Equal ones are sorted by name, to be easy to find.
    return values.sort((a, b) =>
      Number(b.costNanos - a.costNanos) || b.calls - a.calls || (a.value < b.value ? -1 : 1)
    );
  }

  /** Handles each element; a download has a million records. */
  async #inTurns<T>(all: readonly T[], handle: (one: T) => void): Promise<void> {
    for (const some of chunksOf(all, handledAtOnce)) {
      for (const one of some) handle(one);
      await this.turns.pause();
    }
  }
}

/** Returns a record that is in memory; undefined if it must be read. */
function recordOf({ layout, all, records }: StoredRest, at: number): HeldRecord | undefined {
  const held = records.get(at);
  if (held || !all) return held;
  const record = readRecord(layout, all.records, at * recordBytes(layout));
  const { from, length } = record.name;
  const value = new TextDecoder().decode(all.names.subarray(from, from + length));
  records.set(at, { ...record, value });
  return records.get(at);
}
