import type { FinishReason } from "../../../shared/interaction.ts";
import { asString, type JsonRecord } from "../../kernel/json.ts";
import { carriesError, readVendorError, type VendorError } from "../../kernel/vendor_error.ts";

/**
 * Returns the unified reason of a chat `finish_reason`. Values that the dialect doesn't define are
 * recognized by the words they contain. `error`: the answer failed, or its server broke it off
 * (`insufficient_system_resource`, `abort`).
 */
export function readFinishReason(raw: string, sawToolCall: boolean): FinishReason | "error" {
  switch (raw) {
    case "stop":
      // Some servers stream tool calls and then report `stop`.
      return sawToolCall ? "tool_calls" : "stop";
    case "length":
    case "content_filter":
      return raw;
  }
  if (/error|insufficient|abort/i.test(raw)) return "error";
  if (/length|max_tokens/i.test(raw)) return "length";
  if (/filter|safety/i.test(raw)) return "content_filter";
  // Clients that read `tool_calls` look for calls; without any it is an ordinary stop.
  return sawToolCall ? "tool_calls" : "stop";
}

/** Whether a `finish_reason` means that the answer failed. */
export function isErrorReason(raw: unknown): boolean {
  return typeof raw === "string" && readFinishReason(raw, false) === "error";
}

/**
 * Returns the error of a failed choice: from the choice or from the answer around it, or else made
 * of the finish reason alone.
 */
export function readFailure(choice: JsonRecord, answer: JsonRecord): VendorError {
  const error = readVendorError(carriesError(choice) ? choice : answer, undefined);
  const raw = asString(choice.finish_reason) ?? "";
  const isOverload = /insufficient/i.test(raw) && error.message === undefined;
  return isOverload ? { ...error, code: raw, type: "overloaded_error" } : error;
}
