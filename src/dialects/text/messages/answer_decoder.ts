import type { Steps } from "../../../base/steps.ts";
import { unreadableAnswer } from "../../../shared/fault.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import { isRecord } from "../../kernel/json.ts";
import { carriesError, readVendorError } from "../../kernel/vendor_error.ts";
import { AnswerReader } from "./answer/answer_reader.ts";

export function* decodeAnswer(json: unknown): Steps<CanonicalEvent[]> {
  if (!isRecord(json)) throw unreadableAnswer("the answer isn't an object");
  if (carriesError(json)) return [{ type: "error", error: readVendorError(json, undefined) }];
  if (!Array.isArray(json.content)) throw unreadableAnswer("answer has no content");
  const events: CanonicalEvent[] = [];
  const reader = new AnswerReader();
  // A whole answer has ended, even if the server omits the reason.
  yield* reader.startInSteps(json, events, true);
  reader.finish("", json, events);
  reader.own.report("messages", events);
  return events;
}
