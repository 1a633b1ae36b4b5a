import type { JsonCount } from "./json_count.ts";
import type { Steps } from "./steps.ts";

/**
 * A JSON text with more values, or of more UTF-16 units, is worked on in steps: the whole of another
 * takes some 10 ms.
 */
export const heavyValues = 5_000;
export const heavyUnits = 1024 * 1024;

const pieceUnits = 256 * 1024;

/** Counts what a whole text holds. Throws where it exceeds the count's limits. */
export function* countInSteps(count: JsonCount, text: string): Steps<void> {
  for (let at = 0; at < text.length; at += pieceUnits) {
    count.add(text.slice(at, at + pieceUnits));
    yield;
  }
}
