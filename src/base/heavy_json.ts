import type { JsonCount } from "./json_count.ts";
import type { Steps } from "./steps.ts";

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
