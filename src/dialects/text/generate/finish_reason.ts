import type { ErrorCode } from "../../../../contracts/kernel/errors.ts";
import type { FinishReason } from "../../../shared/interaction.ts";

/** The meaning of a candidate's `finishReason`; `invalid` is a failure unless there is content. */
export type Ending = FinishReason | "invalid";

/**
 * Returns the unified reason of a `finishReason`. Answers with function calls end with STOP in this
 * dialect, so `sawToolCall` decides. Reasons of filters that the dialect doesn't define yet are
 * recognized by the words they contain.
 */
export function readFinishReason(raw: string, sawToolCall: boolean): Ending {
  if (lengthReasons.has(raw)) return "length";
  if (filterReasons.has(raw) || /SAFETY|BLOCK/.test(raw)) return "content_filter";
  if (isInvalid(raw)) return "invalid";
  return sawToolCall ? "tool_calls" : "stop";
}

/** Returns the error code for an answer that ended as `invalid` without content. */
export function invalidCode(raw: string | undefined): ErrorCode {
  return raw === "MALFORMED_RESPONSE" ? "upstream_invalid_response" : "upstream_invalid_tool_call";
}

/** Whether a `blockReason` means that the prompt was blocked; `…_UNSPECIFIED` doesn't. */
export function isBlocked(blockReason: unknown): blockReason is string {
  return typeof blockReason === "string" && blockReason !== "" &&
    !blockReason.endsWith("_UNSPECIFIED");
}

/** Returns the `finishReason` for a unified reason; `raw` itself if it has the same meaning. */
export function writeFinishReason(reason: FinishReason, raw: string): string {
  if (knownReasons.has(raw) && agrees(readFinishReason(raw, reason === "tool_calls"), reason)) {
    return raw;
  }
  switch (reason) {
    case "length":
      return "MAX_TOKENS";
    case "content_filter":
      return "SAFETY";
    default:
      return "STOP";
  }
}

/**
 * Whether both mean the same. An answer that has content and ended with an invalid call counts as
 * an ordinary stop.
 */
function agrees(ending: Ending, reason: FinishReason): boolean {
  return ending === reason || (ending === "invalid" && reason === "stop");
}

function isInvalid(raw: string): boolean {
  return raw.startsWith("MALFORMED_") || raw.startsWith("MISSING_") ||
    raw === "UNEXPECTED_TOOL_CALL" || raw === "TOO_MANY_TOOL_CALLS";
}

const lengthReasons: ReadonlySet<string> = new Set(["MAX_TOKENS", "CONTINUATION"]);

const filterReasons: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "LANGUAGE",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
  // A rule of the vendor's, or the account itself, stopped the answer (`@google/genai` 3.3.0).
  "ESCALATION",
  "PUP_LIMITED_DISABLED",
  // Also reasons of blocked prompts, which come without a candidate.
  "MODEL_ARMOR",
  "JAILBREAK",
]);

const knownReasons: ReadonlySet<string> = new Set([
  ...lengthReasons,
  ...filterReasons,
  "FINISH_REASON_UNSPECIFIED",
  "STOP",
  "OTHER",
  "MALFORMED_FUNCTION_CALL",
  "MALFORMED_RESPONSE",
  "MISSING_THOUGHT_SIGNATURE",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "NO_IMAGE",
  "IMAGE_OTHER",
]);
