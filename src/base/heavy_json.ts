import type { HeavyWork } from "./heavy_work.ts";
import { JsonCount } from "./json_count.ts";
import { parseInSteps } from "./parse_in_steps.ts";
import type { Steps } from "./steps.ts";
import type { ValueGate } from "./value_gate.ts";

/** Of a body that a caller sends. */
export const jsonLimits = {
  values: 1_000_000,
  depth: 128,
  members: 10_000,
  names: 50_000,
} as const;

/** Where bodies that hold much are worked on, in turns with what others do. */
export interface HeavyBodies {
  readonly work: HeavyWork;
  /** Bounds the values in memory: parsed, they take many times the memory of their text. */
  readonly room: ValueGate;
}

/** A JSON text with more values or UTF-16 units is processed in steps; others take up to 10 ms. */
export const heavyValues = 5_000;
export const heavyUnits = 1024 * 1024;

const pieceUnits = 256 * 1024;

export function* countInSteps(count: JsonCount, text: string): Steps<void> {
  for (let at = 0; at < text.length; at += pieceUnits) {
    count.add(text.slice(at, at + pieceUnits));
    yield;
  }
}

/** Parses a text that has passed the limits before, or that we wrote. */
export function* parsing(text: string): Steps<unknown> {
  const count = new JsonCount(wideLimits);
  yield* countInSteps(count, text);
  return yield* parseInSteps(text, count);
}

const wideLimits = { values: 1e9, depth: 1024, members: 1e9, names: 1e6 } as const;
