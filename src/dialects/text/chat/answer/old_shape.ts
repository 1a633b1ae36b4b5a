import { asRecord, isRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";

/**
 * Whether the request used the deprecated `functions` instead of `tools`. Its caller reads answers
 * in the old shape, which has room for one call.
 */
export function asksOldShape(body: unknown): boolean {
  return isRecord(body) && Array.isArray(body.functions) && !Array.isArray(body.tools);
}

export function inOldShape(answer: JsonRecord): JsonRecord {
  return { ...answer, choices: recordsIn(answer.choices).map(choiceInOldShape) };
}

function choiceInOldShape(choice: JsonRecord): JsonRecord {
  const { tool_calls: calls, ...message } = asRecord(choice.message);
  const first: unknown = Array.isArray(calls) ? calls[0] : undefined;
  const called = asRecord(first).function;
  return {
    ...choice,
    message: called === undefined ? message : { ...message, function_call: called },
    finish_reason: oldFinish(choice.finish_reason),
  };
}

/** `tool_calls` becomes `function_call`; other reasons stay. */
export function oldFinish<Reason>(reason: Reason): Reason | "function_call" {
  return reason === "tool_calls" ? "function_call" : reason;
}
