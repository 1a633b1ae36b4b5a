import type { Steps } from "../../../base/steps.ts";
import { unreadableAnswer } from "../../../shared/fault.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import { isRecord } from "../../kernel/json.ts";
import { carriesError, readVendorError } from "../../kernel/vendor_error.ts";
import { AnswerReader, areReadable } from "./answer/answer_reader.ts";

/**
 * Returns the events of a whole answer. A server that doesn't know `alt=sse` returns a stream's
 * elements in one array.
 */
export function* decodeAnswer(json: unknown): Steps<CanonicalEvent[]> {
  const elements: readonly unknown[] = Array.isArray(json) ? json : [json];
  const reader = new AnswerReader();
  const events: CanonicalEvent[] = [];
  for (const element of elements) {
    if (!isRecord(element)) throw unreadableAnswer("the answer isn't an object");
    if (carriesError(element)) {
      return [...events, { type: "error", error: readVendorError(element, undefined) }];
    }
    if (!areReadable(element)) throw unreadableAnswer("a candidate isn't an object");
    yield* reader.readAhead(element);
    const before = events.length;
    reader.read(element, events);
    if (hasSince(before, events, "error")) return events;
    yield;
  }
  const before = events.length;
  reader.close(events, true);
  if (!hasSince(before, events, "finish")) throw unreadableAnswer("answer has no candidates");
  return events;
}

/** Whether there is an event of this type from `index` on. */
function hasSince(
  index: number,
  events: readonly CanonicalEvent[],
  type: CanonicalEvent["type"],
): boolean {
  return events.slice(index).some((event) => event.type === type);
}
