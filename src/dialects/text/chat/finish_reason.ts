import type { FinishReason } from "../../../shared/interaction.ts";
import { asString, type JsonRecord } from "../../kernel/json.ts";
import { carriesError, readVendorError, type VendorError } from "../../kernel/vendor_error.ts";

/**
 * The unified reason of a chat `finish_reason` (chat-completions.md §4.1): its own words stand,
 * foreign ones go by what they contain. `error` is none: the answer failed, or its server broke it
 * off (`insufficient_system_resource`, `abort`).
 */
export function readFinishReason(raw: string, sawToolCall: boolean): FinishReason | "error" {
  switch (raw) {
    case "stop":
      // Some servers stream tool calls and then say "stop" (chat-completions.md §4.3).
      return sawToolCall ? "tool_calls" : "stop";
    case "length":
    case "content_filter":
      return raw;
  }
  if (/error|insufficient|abort/i.test(raw)) return "error";
  if (/length|max_tokens/i.test(raw)) return "length";
  if (/filter|safety/i.test(raw)) return "content_filter";
  // Who is told of calls looks for them: without any, also `tool_calls` is an ordinary end.
  return sawToolCall ? "tool_calls" : "stop";
}

/** Whether a `finish_reason` says that the answer failed. */
export function saysError(raw: unknown): boolean {
  return typeof raw === "string" && readFinishReason(raw, false) === "error";
}

/** Why a choice failed whose reason says so: told in it or beside it, else by the reason alone. */
export function readFailure(choice: JsonRecord, answer: JsonRecord): VendorError {
  const error = readVendorError(carriesError(choice) ? choice : answer, undefined);
  const raw = asString(choice.finish_reason) ?? "";
  const isOverload = /insufficient/i.test(raw) && error.message === undefined;
  return isOverload ? { ...error, code: raw, type: "overloaded_error" } : error;
}
