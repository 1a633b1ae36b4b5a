import { unreadableAnswer } from "../../../shared/fault.ts";
import type { CanonicalEvent, UsageEvent } from "../../kernel/canonical.ts";
import type { DialectQuirks } from "../../kernel/dialect.ts";
import { asString, choiceIndexes, isRecord, type JsonRecord, unixTime } from "../../kernel/json.ts";
import { carriesError, readVendorError } from "../../kernel/vendor_error.ts";
import { ChoiceReader } from "./answer/choice_reader.ts";
import { ownAnswer } from "./answer/own_choice.ts";
import { isErrorReason, readFailure } from "./finish_reason.ts";
import { readUsage } from "./usage.ts";

export function decodeAnswer(answer: unknown, quirks: DialectQuirks): CanonicalEvent[] {
  // Some vendors wrap their errors in an array.
  const json: unknown = Array.isArray(answer) ? answer[0] : answer;
  if (!isRecord(json)) throw unreadableAnswer("answer is no object");
  const usage = usageOf(json, quirks);
  if (carriesError(json)) {
    return [...usage, { type: "error", error: readVendorError(json, undefined) }];
  }
  const choices: unknown = json.choices;
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every(isAnswer)) {
    throw unreadableAnswer("answer has no choices");
  }
  const failed = choices.find((one) => isErrorReason(one.finish_reason));
  if (failed) return [...usage, { type: "error", error: readFailure(failed, json) }];
  const events: CanonicalEvent[] = [{
    type: "start",
    id: asString(json.id),
    model: asString(json.model),
    created: unixTime(json.created),
  }];
  const nextBlock = { value: 0 };
  for (const [position, index] of choiceIndexes(choices).entries()) {
    const reader = new ChoiceReader(index, nextBlock);
    reader.read(choices[position]!, events);
    // A whole answer has ended, even if the server omits the reason.
    if (!reader.finished) reader.read({ finish_reason: "stop" }, events);
    reader.close(events);
  }
  const own = ownAnswer();
  own.add(json);
  own.report("chat", events);
  return [...events, ...usage];
}

/** The usage, if it was reported. A failed answer has it too: its output is billed. */
function usageOf(json: JsonRecord, quirks: DialectQuirks): UsageEvent[] {
  const usage = readUsage(json.usage, quirks);
  if (!usage) return [];
  const tier = asString(json.service_tier);
  return [{ type: "usage", usage: tier ? { ...usage, serviceTier: tier } : usage }];
}

/** Whether the choice has content or a finish reason. */
function isAnswer(choice: unknown): choice is JsonRecord {
  return isRecord(choice) &&
    (isRecord(choice.message) || isRecord(choice.delta) ||
      asString(choice.finish_reason) !== undefined);
}
