import { isRecord } from "../../kernel/json.ts";
import type { ToolDemand } from "../../kernel/tool_demand.ts";

/** What a request asks of a chat endpoint, read where it isn't translated. */
export function readToolDemand(body: unknown): ToolDemand {
  const { tools, functions, reasoning_effort: effort }: Record<string, unknown> = isRecord(body)
    ? body
    : {};
  const hasAny = [tools, functions].some((list) => Array.isArray(list) && list.length > 0);
  if (!hasAny) return "none";
  if (typeof effort !== "string") return "tools";
  return effort === "none" ? "tools_alone" : "tools_with_reasoning";
}
