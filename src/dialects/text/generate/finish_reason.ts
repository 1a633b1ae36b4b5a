import type { FinishReason } from "../../../shared/interaction.ts";

/** What a candidate's `finishReason` means; `invalid` is a failure unless there is content. */
export type Ending = FinishReason | "invalid";

/**
 * The unified reason of a `finishReason`. Function calls end with STOP in this dialect, so
 * `sawToolCall` decides.
 */
export function readFinishReason(raw: string, sawToolCall: boolean): Ending {
  if (lengthReasons.has(raw)) return "length";
  if (filterReasons.has(raw)) return "content_filter";
  if (isInvalid(raw)) return "invalid";
  return sawToolCall ? "tool_calls" : "stop";
}

/** A `blockReason` of the prompt; `…_UNSPECIFIED` means that it wasn't blocked. */
export function isBlocked(blockReason: unknown): blockReason is string {
  return typeof blockReason === "string" && blockReason !== "" &&
    !blockReason.endsWith("_UNSPECIFIED");
}

/** The vendor's word for a unified reason; its own word where `raw` is one that means the same. */
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

/** A word for an invalid call ended an answer with content as an ordinary stop. */
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
  // Words for blocked prompts, which come without a candidate.
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
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "NO_IMAGE",
  "IMAGE_OTHER",
]);
