import type { FinishReason } from "../../../shared/interaction.ts";

/** Maps the dialect's stop reasons to the unified ones. */
const reasons: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  compaction: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "content_filter",
};

/**
 * Returns the unified reason of a `stop_reason`. Whether the answer has tool calls decides between
 * `stop` and `tool_calls`: some vendors report `end_turn` after a call, and `tool_use` may mean the
 * vendor's own tools.
 */
export function readFinishReason(raw: string, sawToolCall: boolean): FinishReason {
  const reason = Object.hasOwn(reasons, raw) ? reasons[raw]! : "stop";
  if (reason === "length" || reason === "content_filter") return reason;
  return sawToolCall ? "tool_calls" : "stop";
}

/** Returns the `stop_reason` for a finish; the vendor's own if it spoke this dialect. */
export function writeFinishReason(
  finish: { reason: FinishReason; raw: string; stopSequence?: string } | undefined,
  sawToolCall: boolean,
): string {
  if (finish?.reason === "length" || finish?.reason === "content_filter") {
    const isOwn = Object.hasOwn(reasons, finish.raw) && reasons[finish.raw] === finish.reason;
    return isOwn ? finish.raw : finish.reason === "length" ? "max_tokens" : "refusal";
  }
  // Anthropic's client runs tools only after this reason.
  if (sawToolCall) return "tool_use";
  if (finish?.stopSequence !== undefined) return "stop_sequence";
  const isOwn = finish?.raw === "pause_turn" || finish?.raw === "compaction";
  return finish?.reason === "stop" && isOwn ? finish.raw : "end_turn";
}
