import type { CanonicalRequest } from "./canonical_request.ts";
import { isRecord } from "./json.ts";

/**
 * What a call asks of a chat endpoint, by what such endpoints refuse of some models, the least
 * first: no tools; tools with reasoning turned off; tools; tools with reasoning.
 */
export const toolDemands = ["none", "tools_alone", "tools", "tools_with_reasoning"] as const;
export type ToolDemand = typeof toolDemands[number];

/** What a translated call asks for. */
export function demandOf({ tools, reasoning }: CanonicalRequest): ToolDemand {
  if (tools.length === 0) return "none";
  const { effort, budgetTokens } = reasoning ?? {};
  if (effort === "none" || (effort === undefined && budgetTokens === 0)) return "tools_alone";
  return effort === undefined && budgetTokens === undefined ? "tools" : "tools_with_reasoning";
}

/** The same of a request in the chat dialect, read where it isn't translated. */
export function chatDemand(body: unknown): ToolDemand {
  const { tools, functions, reasoning_effort: effort }: Record<string, unknown> = isRecord(body)
    ? body
    : {};
  const hasAny = [tools, functions].some((list) => Array.isArray(list) && list.length > 0);
  if (!hasAny) return "none";
  if (typeof effort !== "string") return "tools";
  return effort === "none" ? "tools_alone" : "tools_with_reasoning";
}
