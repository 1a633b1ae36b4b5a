import type { Steps } from "../../../base/steps.ts";
import { unreadableAnswer } from "../../../shared/fault.ts";
import type { CanonicalEvent, StartEvent, UsageEvent } from "../../kernel/canonical.ts";
import type { DialectQuirks } from "../../kernel/dialect.ts";
import { choiceIndexes } from "../../kernel/choices.ts";
import { asRecord, asString, isRecord, type JsonRecord, unixTime } from "../../kernel/json.ts";
import { optionalField } from "../../kernel/fields.ts";
import { carriesError, readVendorError, type VendorError } from "../../kernel/vendor_error.ts";
import { ChoiceReader } from "./answer/choice_reader.ts";
import { readChoicesAhead } from "./answer/logprobs.ts";
import { ownAnswer } from "./answer/own_choice.ts";
import { LogprobReader } from "../../kernel/token_logprobs.ts";
import { isErrorReason, readFailure } from "./finish_reason.ts";
import { readUsage } from "./usage.ts";

export function* decodeAnswer(answer: unknown, quirks: DialectQuirks): Steps<CanonicalEvent[]> {
  // Some vendors wrap their errors in an array.
  const json: unknown = Array.isArray(answer) ? answer[0] : answer;
  if (!isRecord(json)) throw unreadableAnswer("the answer isn't an object");
  if (carriesError(json)) return failedEvents(readVendorError(json, undefined), json, quirks);
  const choices: unknown = json.choices;
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every(isAnswer)) {
    throw unreadableAnswer("answer has no choices");
  }
  const failed = choices.find((one) => isErrorReason(one.finish_reason));
  if (failed) return failedEvents(readFailure(failed, json), json, quirks);
  const logprobs = new LogprobReader();
  yield* readChoicesAhead(json, logprobs);
  const events: CanonicalEvent[] = [startEvent(json)];
  const nextBlock = { value: 0 };
  for (const [position, index] of choiceIndexes(choices).entries()) {
    const reader = new ChoiceReader(index, nextBlock, logprobs);
    reader.read(choices[position]!, events);
    // A whole answer has ended, even if the server omits the reason.
    if (!reader.finished) reader.read({ finish_reason: "stop" }, events);
    reader.close(events);
    yield;
  }
  const own = ownAnswer();
  own.add(json);
  own.report("chat", events);
  const usage = usageIn(json, quirks);
  return usage ? [...events, usage] : events;
}

/** The start event of an answer, or of a chunk of one. */
export function startEvent(json: JsonRecord): StartEvent {
  return {
    type: "start",
    id: asString(json.id),
    model: asString(json.model),
    created: unixTime(json.created),
    ...optionalField("serviceTier", asString(json.service_tier)),
  };
}

/**
 * Returns the usage that an answer or a chunk reports. Groq's streams have it in a separate member,
 * Moonshot's in the only `choice`.
 */
export function usageIn(
  json: JsonRecord,
  quirks: DialectQuirks,
  choice?: unknown,
): UsageEvent | undefined {
  const raw = json.usage ?? asRecord(json.x_groq).usage ?? asRecord(choice).usage;
  const usage = readUsage(raw, quirks);
  if (!usage) return undefined;
  const serviceTier = asString(json.service_tier);
  return { type: "usage", usage: serviceTier ? { ...usage, serviceTier } : usage };
}

/** Returns the events of a failure. Output before it is billed. */
export function failedEvents(
  error: VendorError,
  json: JsonRecord,
  quirks: DialectQuirks,
): CanonicalEvent[] {
  const usage = usageIn(json, quirks);
  return [...(usage ? [usage] : []), { type: "error", error }];
}

/** Whether the choice has content or a finish reason. */
function isAnswer(choice: unknown): choice is JsonRecord {
  return isRecord(choice) &&
    (isRecord(choice.message) || isRecord(choice.delta) ||
      asString(choice.finish_reason) !== undefined);
}
