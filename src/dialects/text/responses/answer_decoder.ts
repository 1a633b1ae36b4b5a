import { pushAll } from "../../../base/lists.ts";
import type { Steps } from "../../../base/steps.ts";
import { unreadableAnswer } from "../../../shared/fault.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import type { DialectQuirks } from "../../kernel/dialect.ts";
import { isRecord } from "../../kernel/json.ts";
import { carriesError } from "../../kernel/vendor_error.ts";
import { readFailure } from "./answer/failure.ts";
import { OutputReader } from "./answer/output_reader.ts";
import { endingEvents, isFailed, startEvent } from "./answer/response_reader.ts";
import { readUsage } from "./usage.ts";

export function* decodeAnswer(json: unknown, quirks: DialectQuirks): Steps<CanonicalEvent[]> {
  if (!isRecord(json)) throw unreadableAnswer("the answer isn't an object");
  if (isFailed(json) || carriesError(json)) {
    const error = readFailure(carriesError(json) ? json : { error: {} });
    const usage = readUsage(json, quirks);
    // Output before the failure is billed.
    return [...(usage ? [{ type: "usage", usage } as const] : []), { type: "error", error }];
  }
  if (!Array.isArray(json.output) && json.object !== "response") {
    throw unreadableAnswer("answer has no output");
  }
  const reader = new OutputReader();
  const events: CanonicalEvent[] = [startEvent(json)];
  yield* reader.finishInSteps(json.output, events);
  pushAll(events, endingEvents(json, reader, quirks));
  return events;
}
