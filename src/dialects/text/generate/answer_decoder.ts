import { unreadableAnswer } from "../../../shared/fault.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import { isRecord } from "../../kernel/json.ts";
import { carriesError, readVendorError } from "../../kernel/vendor_error.ts";
import { AnswerReader, areReadable } from "./answer/answer_reader.ts";

/**
 * Returns the events of a whole answer. A server that doesn't know `alt=sse` returns a stream's
 * elements in one array.
 */
export function decodeAnswer(json: unknown): CanonicalEvent[] {
  const elements: readonly unknown[] = Array.isArray(json) ? json : [json];
  const reader = new AnswerReader();
  const events: CanonicalEvent[] = [];
  for (const element of elements) {
    if (!isRecord(element)) throw unreadableAnswer("the answer isn't an object");
    if (carriesError(element)) {
      return [...events, { type: "error", error: readVendorError(element, undefined) }];
    }
    if (!areReadable(element)) throw unreadableAnswer("a candidate isn't an object");
    reader.read(element, events);
    if (events.some(({ type }) => type === "error")) return events;
  }
  const before = events.length;
  reader.close(events, true);
  if (!events.slice(before).some(({ type }) => type === "finish")) {
    throw unreadableAnswer("answer has no candidates");
  }
  return events;
}
