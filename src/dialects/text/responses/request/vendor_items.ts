import type { LossWeight } from "../../../kernel/canonical_request.ts";

/**
 * Items and tools of vendor-side work (responses.md §2, §3), which no other dialect has words for.
 */

/**
 * What leaving an item out of the conversation does. A record of the vendor's own work is a hint:
 * the answer drawn from it stands beside it. What the caller contributed, or what an output of the
 * caller's belongs to, is meaning, and so may be what came into the dialect after this was written.
 */
export function vendorItemWeight(type: string): LossWeight {
  return weights.get(type) ?? "meaning";
}

const weights: ReadonlyMap<string, LossWeight> = new Map<string, LossWeight>([
  ["web_search_call", "hint"],
  ["file_search_call", "hint"],
  ["code_interpreter_call", "hint"],
  ["image_generation_call", "hint"],
  ["mcp_list_tools", "hint"],
  ["mcp_call", "hint"],
  ["tool_search_call", "hint"],
  ["tool_search_output", "hint"],
  ["mcp_approval_request", "meaning"],
  ["mcp_approval_response", "meaning"],
  ["computer_call", "meaning"],
  ["computer_call_output", "meaning"],
  ["local_shell_call", "meaning"],
  ["local_shell_call_output", "meaning"],
  ["shell_call", "meaning"],
  ["shell_call_output", "meaning"],
  ["apply_patch_call", "meaning"],
  ["apply_patch_call_output", "meaning"],
  ["additional_tools", "meaning"],
  ["program", "meaning"],
  ["program_output", "meaning"],
  ["compaction", "meaning"],
  ["compaction_trigger", "meaning"],
  ["configuration_update", "meaning"],
]);
