import { parseExactly } from "../base/exact_json.ts";
import type { SseEvent } from "../base/sse.ts";
import type { Fault } from "../shared/fault.ts";

/**
 * Whether the last event of a stream counts. It may lack its blank line; half an event, or one
 * without data, means a cut stream, not an invalid answer. Throws what `excessOf` returns for data
 * that is too much to be parsed.
 */
export function isWholeEvent(
  { terminated, data }: SseEvent,
  excessOf: (data: string) => Fault | undefined,
): boolean {
  if (terminated) return true;
  if (data === undefined) return false;
  if (data.trim() === "[DONE]") return true;
  const excess = excessOf(data);
  if (excess) throw excess;
  try {
    parseExactly(data);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether the vendor's stream ended before the blank line of this event, or between the last CR and
 * LF: most clients then drop the event. Where an end marker ends doesn't matter.
 */
export function lacksBlankLine({ terminated, bytes, data }: SseEvent): boolean {
  const isCut = bytes.at(-1) === carriageReturn && bytes.at(-2) !== carriageReturn;
  return (!terminated || isCut) && data?.trim() !== "[DONE]";
}

const carriageReturn = 0x0d;
