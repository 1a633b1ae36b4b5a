import type { CanonicalRequest } from "./canonical_request.ts";

/**
 * How a call uses tools, in the order in which chat endpoints refuse it for some models: no tools;
 * tools with reasoning turned off; tools; tools with reasoning.
 */
export const toolDemands = ["none", "tools_alone", "tools", "tools_with_reasoning"] as const;
export type ToolDemand = typeof toolDemands[number];

export function demandOf({ tools, reasoning }: CanonicalRequest): ToolDemand {
  if (tools.length === 0) return "none";
  const { effort, budgetTokens } = reasoning ?? {};
  if (effort === "none" || (effort === undefined && budgetTokens === 0)) return "tools_alone";
  return effort === undefined && budgetTokens === undefined ? "tools" : "tools_with_reasoning";
}
