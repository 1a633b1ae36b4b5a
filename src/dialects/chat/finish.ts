import type { FinishReason } from "../../domain/interaction.ts";

/**
 * The unified reason of a chat `finish_reason` (chat-completions.md §4.1): the four words stand,
 * foreign ones go by what they contain. `error` is none: the answer failed.
 */
export function unifyFinish(raw: string, sawToolCall: boolean): FinishReason | "error" {
  switch (raw) {
    case "stop":
      // Some servers stream tool calls and then say "stop" (chat-completions.md §4.3).
      return sawToolCall ? "tool_calls" : "stop";
    case "length":
    case "tool_calls":
    case "content_filter":
      return raw;
    case "function_call":
      return "tool_calls";
  }
  if (/error/i.test(raw)) return "error";
  if (/length|max_tokens/i.test(raw)) return "length";
  if (/filter|safety/i.test(raw)) return "content_filter";
  if (/tool/i.test(raw)) return "tool_calls";
  return sawToolCall ? "tool_calls" : "stop";
}

/** Whether a `finish_reason` says that the answer failed. */
export function saysError(raw: unknown): boolean {
  return typeof raw === "string" && unifyFinish(raw, false) === "error";
}
