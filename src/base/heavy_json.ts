import type { HeavyWork } from "./heavy_work.ts";
import { JsonCount } from "./json_count.ts";
import { JsonTextError, parseInSteps } from "./parse_in_steps.ts";
import type { Steps } from "./steps.ts";
import type { ValueGate } from "./value_gate.ts";

/** Limits of a body that a caller sends. */
export const jsonLimits = {
  values: 1_000_000,
  depth: 128,
  members: 10_000,
  names: 50_000,
  longNames: 0,
  bare: 100_000,
} as const;

/** What it takes to process large bodies in turns with the work of other callers. */
export interface HeavyBodies {
  readonly work: HeavyWork;
  /** Bounds the values in memory: parsed, they take many times the memory of their text. */
  readonly room: ValueGate;
}

/**
 * A JSON text with more values or UTF-16 units than these is processed in steps. A smaller one
 * takes up to 10 ms at once.
 */
export const heavyValues = 5_000;
export const heavyUnits = 1024 * 1024;

const pieceUnits = 256 * 1024;

export function* countInSteps(count: JsonCount, text: string): Steps<void> {
  for (let at = 0; at < text.length; at += pieceUnits) {
    count.add(text.slice(at, at + pieceUnits));
    yield;
  }
}

/** Parses, in steps, a text that passed the limits earlier, or that the gateway wrote. */
export function* parsing(text: string): Steps<unknown> {
  const count = new JsonCount(wideLimits);
  yield* countInSteps(count, text);
  return yield* parseCounted(text, count);
}

/** The same for a text that is counted. Throws `JsonTextError` if it isn't JSON. */
export function* parseCounted(text: string, count: JsonCount): Steps<unknown> {
  if (count.isBroken) throw new JsonTextError(undefined);
  const { start, end } = count.solid;
  // Cut off, or followed by something: parsing would be one step, and fail.
  if (end - start > count.largeUnits && count.large.get(start) !== end) {
    throw new JsonTextError(undefined);
  }
  return yield* parseInSteps(text, count);
}

export const wideLimits = { values: 1e9, depth: 1024, members: 1e9, names: 1e6 } as const;
