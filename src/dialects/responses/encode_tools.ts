import type { CanonicalRequest, Tool } from "../canonical_request.ts";
import { isRecord } from "../json.ts";
import { defined } from "./fields.ts";

/** Writes `tools`, `tool_choice` and `parallel_tool_calls` (responses.md §3); none without tools. */
export function writeTools(
  request: CanonicalRequest,
  aliasOf: (name: string) => string,
): Record<string, unknown> {
  if (request.tools.length === 0) return {};
  return {
    tools: request.tools.map((tool) => writeTool(tool, aliasOf)),
    ...defined({
      tool_choice: writeToolChoice(request, aliasOf),
      parallel_tool_calls: request.parallelToolCalls,
    }),
  };
}

function writeTool(tool: Tool, aliasOf: (name: string) => string): Record<string, unknown> {
  const named = { name: aliasOf(tool.name), ...defined({ description: tool.description }) };
  if (tool.type === "custom") {
    return { type: "custom", ...named, ...defined({ format: writeToolFormat(tool.format) }) };
  }
  return {
    type: "function",
    ...named,
    parameters: tool.parameters ?? null,
    // Left out, this dialect means true where others mean false (responses.md §3).
    strict: tool.strict ?? false,
  };
}

function writeToolFormat(format: unknown): unknown {
  return isRecord(format) && isRecord(format.grammar)
    ? { type: format.type, ...format.grammar }
    : format;
}

function writeToolChoice(request: CanonicalRequest, aliasOf: (name: string) => string): unknown {
  const choice = request.toolChoice;
  if (!choice?.names) return choice?.mode;
  const types = new Map(request.tools.toReversed().map(({ name, type }) => [name, type]));
  const tools = choice.names.map((name) => ({
    type: types.get(name) ?? "function",
    name: aliasOf(name),
  }));
  if (choice.mode === "required" && tools.length === 1) return tools[0];
  return { type: "allowed_tools", mode: choice.mode === "required" ? "required" : "auto", tools };
}
