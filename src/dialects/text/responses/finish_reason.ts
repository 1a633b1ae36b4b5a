import type { FinishReason } from "../../../shared/interaction.ts";
import { asRecord, asString, type JsonRecord } from "../../kernel/json.ts";

/** How an answer ended: the unified reason and the vendor's own. */
export interface Ending {
  reason: FinishReason;
  raw: string;
}

/**
 * Returns the unified reason of a response; undefined until it has ended (`queued`, `in_progress`).
 * A response that ended without a reason is completed.
 */
export function readFinishReason(
  response: JsonRecord,
  saw: { toolCall: boolean; cutToolCall: boolean },
): Ending | undefined {
  const status = asString(response.status) ?? "completed";
  if (status === "queued" || status === "in_progress") return undefined;
  if (status === "incomplete") {
    const details = response.incomplete_details;
    const raw = asString(asRecord(details).reason) ?? "incomplete";
    return { reason: raw === "content_filter" ? "content_filter" : "length", raw };
  }
  if (saw.cutToolCall) return { reason: "length", raw: status };
  return { reason: saw.toolCall ? "tool_calls" : "stop", raw: status };
}

/**
 * Returns the `status` and the reason in `incomplete_details` of a response. Without a reason it
 * never ended.
 */
export function writeFinishReason(
  reason: FinishReason | undefined,
): { status: "completed" | "incomplete"; incompleteReason: string | undefined } {
  switch (reason) {
    case "stop":
    case "tool_calls":
      return { status: "completed", incompleteReason: undefined };
    case "length":
      return { status: "incomplete", incompleteReason: "max_output_tokens" };
    case "content_filter":
      return { status: "incomplete", incompleteReason: "content_filter" };
    case undefined:
      return { status: "incomplete", incompleteReason: undefined };
  }
}
