import { type LabelStep, type LabelSum, labelSums } from "./label_step.ts";

/** A step as stored in the table `label_steps`. */
export interface PackedStep {
  /** Base64, which drivers read faster than `bytea`: they decode that from hex digit by digit. */
  ranks: string;
  layout: Uint8Array;
  records: Uint8Array;
  names: Uint8Array;
}

/** The sums by which values are ranked. The values of a step are sorted by id. */
export interface Ranks {
  /** Both halves of each value's id, the first eight bytes of its SHA-256. */
  ids: Uint32Array;
  sums: RankSums;
}

/** Calls and cost of each value, split because most numbers are small. */
export interface RankSums {
  /** The lowest byte. */
  calls: Uint8Array;
  /** The lowest 32 bits. */
  costNanos: Uint32Array;
  /** What to add for values with larger numbers, by position. */
  more: ReadonlyMap<number, { calls: number; costNanos: number }>;
}

/** The sums in a value's record, which ranking doesn't need; behind them is where its name is. */
export const recordSums = labelSums.filter((name) => name !== "calls" && name !== "costNanos");
const nameAt = recordSums.length;
const nameBytes = nameAt + 1;

/** Bytes of a value's id in `LabelStep.ids`. */
export const idBytes = 8;

/**
 * Packs a step. Its records have the same length, so that one can be read alone: each number takes
 * as many bytes as the largest one of its column needs. Throws an Error for a sum that isn't a safe
 * non-negative integer.
 */
export function packStep(step: LabelStep): PackedStep {
  const ids = halvesOf(step.ids);
  const order = step.values.map((_, at) => at)
    .sort((a, b) => ids[2 * a]! - ids[2 * b]! || ids[2 * a + 1]! - ids[2 * b + 1]!);
  const numbers = (sum: LabelSum) => order.map((at) => wholeOf(step.sums, sum, at));
  const ranks = packRanks(
    Uint32Array.from(order.flatMap((at) => [ids[2 * at]!, ids[2 * at + 1]!])),
    rankSums(numbers("calls"), numbers("costNanos")),
  );
  const names = order.map((at) => new TextEncoder().encode(step.values[at]));
  const starts: number[] = [];
  let bytes = 0;
  for (const name of names) {
    starts.push(bytes);
    bytes += name.length;
  }
  const columns = [...recordSums.map(numbers), starts, names.map(({ length }) => length)];
  const layout = Uint8Array.from(columns, widthOf);
  return { ranks, layout, ...packRecords(columns, layout, names) };
}

/** Reads bytes as 32-bit words in this machine's byte order. */
export function halvesOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.slice().buffer);
}

export function rankSums(
  calls: readonly number[] | Float64Array,
  costNanos: readonly number[] | Float64Array,
): RankSums {
  const low: RankSums = {
    calls: Uint8Array.from(calls, (number) => number % 256),
    costNanos: Uint32Array.from(costNanos, (number) => number % 2 ** 32),
    more: new Map(),
  };
  const more = new Map<number, { calls: number; costNanos: number }>();
  for (let at = 0; at < calls.length; at++) {
    const rest = {
      calls: calls[at]! - low.calls[at]!,
      costNanos: costNanos[at]! - low.costNanos[at]!,
    };
    if (rest.calls + rest.costNanos > 0) more.set(at, rest);
  }
  return { ...low, more };
}

/**
 * Packs, as base64: the number of values, their ids and costs as 32-bit words, their calls as
 * bytes, and then `more`.
 */
function packRanks(ids: Uint32Array, { calls, costNanos, more }: RankSums): string {
  const values = calls.length;
  const all = new Uint8Array(4 + values * 13);
  const view = new DataView(all.buffer);
  view.setUint32(0, values, true);
  for (const [at, word] of [...ids, ...costNanos].entries()) view.setUint32(4 + 4 * at, word, true);
  all.set(calls, 4 + 12 * values);
  const added: number[] = [];
  for (const [at, rest] of more) {
    for (const number of [at, rest.calls, rest.costNanos]) pushNumber(added, number);
  }
  const bytes = new Uint8Array(all.length + added.length);
  bytes.set(all);
  bytes.set(added, all.length);
  return bytes.toBase64();
}

/** Reverses `packRanks`. Assumes a little-endian machine, as all are that the runtime supports. */
export function unpackRanks(text: string): Ranks {
  const { buffer } = Uint8Array.fromBase64(text);
  const values = new DataView(buffer).getUint32(0, true);
  const more = new Map<number, { calls: number; costNanos: number }>();
  const [...added] = numbersOf(new Uint8Array(buffer, 4 + 13 * values));
  for (let at = 0; at < added.length; at += 3) {
    more.set(added[at]!, { calls: added[at + 1]!, costNanos: added[at + 2]! });
  }
  return {
    ids: new Uint32Array(buffer, 4, 2 * values),
    sums: {
      calls: new Uint8Array(buffer, 4 + 12 * values, values).slice(),
      costNanos: new Uint32Array(buffer, 4 + 8 * values, values).slice(),
      more,
    },
  };
}

function packRecords(
  columns: readonly (readonly number[])[],
  layout: Uint8Array,
  names: readonly Uint8Array[],
): Pick<PackedStep, "records" | "names"> {
  const records = new Uint8Array(names.length * recordBytes(layout));
  let to = 0;
  for (let at = 0; at < names.length; at++) {
    for (const [nth, width] of layout.entries()) {
      let rest = columns[nth]![at]!;
      for (let byte = 0; byte < width; byte++) {
        records[to++] = rest % 256;
        rest = Math.floor(rest / 256);
      }
    }
  }
  const all = new Uint8Array(names.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const name of names) {
    all.set(name, end);
    end += name.length;
  }
  return { records, names: all };
}

function wholeOf(sums: LabelStep["sums"], name: LabelSum, at: number): number {
  const number = sums[name]?.[at] ?? 0;
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${number} is no sum of calls`);
  return number;
}

function widthOf(numbers: readonly number[]): number {
  let largest = numbers.reduce((most, one) => Math.max(most, one), 0);
  let width = 0;
  for (; largest > 0; largest = Math.floor(largest / 256)) width++;
  return width;
}

/** Writes seven bits per byte, the lowest first; the top bit is set on all bytes but the last. */
function pushNumber(bytes: number[], number: number): void {
  let rest = number;
  while (rest >= 128) {
    bytes.push(rest % 128 + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
}

function* numbersOf(bytes: Uint8Array): Iterable<number> {
  let number = 0;
  let unit = 1;
  for (const byte of bytes) {
    number += (byte & 127) * unit;
    unit *= 128;
    if (byte >= 128) continue;
    yield number;
    [number, unit] = [0, 1];
  }
}

export function recordBytes(layout: Uint8Array): number {
  return layout.reduce((sum, width) => sum + width, 0);
}

export interface LabelRecord {
  /** In the order of `recordSums`. */
  sums: Float64Array;
  name: { from: number; length: number };
}

/** Reads the record that begins at the byte `from`. */
export function readRecord(layout: Uint8Array, bytes: Uint8Array, from: number): LabelRecord {
  const numbers = new Float64Array(layout.length);
  let at = from;
  for (let nth = 0; nth < layout.length; nth++) {
    numbers[nth] = numberAt(bytes, at, layout[nth]!);
    at += layout[nth]!;
  }
  return {
    sums: numbers.subarray(0, nameAt),
    name: { from: numbers[nameAt]!, length: numbers[nameBytes]! },
  };
}

/**
 * Adds a record's sums to `rank` of the columns, which are in the order of `recordSums`. For a
 * million records this takes a fifth of the time of `readRecord`.
 */
export function addRecordTo(
  columns: readonly Float64Array[],
  rank: number,
  { layout, bytes, from }: { layout: Uint8Array; bytes: Uint8Array; from: number },
): void {
  let at = from;
  for (let nth = 0; nth < columns.length; nth++) {
    columns[nth]![rank]! += numberAt(bytes, at, layout[nth]!);
    at += layout[nth]!;
  }
}

function numberAt(bytes: Uint8Array, at: number, width: number): number {
  let number = 0;
  let unit = 1;
  for (let byte = 0; byte < width; byte++) {
    number += bytes[at + byte]! * unit;
    unit *= 256;
  }
  return number;
}
