import type { CanonicalRequest, Loss, Tool, WebSearch } from "../../../kernel/canonical_request.ts";
import { defined } from "../../../../base/defined.ts";
import { functionSchema } from "../../../kernel/function_schema.ts";
import { isRecord } from "../../../kernel/json.ts";
import { SchemaBudget } from "../../../kernel/schema_refs.ts";
import { loseSearchFields, writeSearchLocation } from "../../../kernel/web_search.ts";

/** Writes `tools`, `tool_choice` and `parallel_tool_calls`; none without tools. */
export function writeTools(
  request: CanonicalRequest,
  search: WebSearch | undefined,
  aliasOf: (name: string) => string,
  losses: Loss[],
): Record<string, unknown> {
  if (request.tools.length === 0 && !search) return {};
  const room = new SchemaBudget();
  const tools = request.tools.map((tool) => writeTool(tool, { aliasOf, room, losses }));
  return {
    tools: search ? [...tools, writeSearch(search, losses)] : tools,
    ...defined({
      tool_choice: writeToolChoice(request, search, aliasOf),
      parallel_tool_calls: request.parallelToolCalls,
      // The limit covers all vendor-side tools; the search is the only one.
      max_tool_calls: search?.maxUses,
    }),
  };
}

function writeSearch(search: WebSearch, losses: Loss[]): Record<string, unknown> {
  loseSearchFields(search, ["blockedDomains"], losses);
  return {
    type: "web_search",
    ...defined({
      filters: search.allowedDomains && { allowed_domains: search.allowedDomains },
      search_context_size: search.contextSize,
      user_location: writeSearchLocation(search.location),
    }),
  };
}

function writeTool(
  tool: Tool,
  { aliasOf, room, losses }: {
    aliasOf: (name: string) => string;
    room: SchemaBudget;
    losses: Loss[];
  },
): Record<string, unknown> {
  const named = { name: aliasOf(tool.name), ...defined({ description: tool.description }) };
  if (tool.type === "custom") {
    return { type: "custom", ...named, ...defined({ format: writeToolFormat(tool.format) }) };
  }
  // The default of strict is true here and false in other dialects.
  const { parameters = null, strict = false } = functionSchema(tool, room, losses);
  return { type: "function", ...named, parameters, strict };
}

function writeToolFormat(format: unknown): unknown {
  return isRecord(format) && isRecord(format.grammar)
    ? { type: format.type, ...format.grammar }
    : format;
}

function writeToolChoice(
  request: CanonicalRequest,
  search: WebSearch | undefined,
  aliasOf: (name: string) => string,
): unknown {
  const choice = request.toolChoice;
  const searching = search ? [{ type: "web_search" }] : [];
  if (search?.demanded) {
    // Only the older search can be chosen by name (openai 7.57, `ToolChoiceTypes`).
    return request.tools.length === 0
      ? "required"
      : { type: "allowed_tools", mode: "required", tools: searching };
  }
  if (!choice?.names) return choice?.mode;
  const types = new Map(request.tools.toReversed().map(({ name, type }) => [name, type]));
  const tools = choice.names.map((name) => ({
    type: types.get(name) ?? "function",
    name: aliasOf(name),
  }));
  if (choice.mode === "required" && tools.length === 1) return tools[0];
  const mode = choice.mode === "required" ? "required" : "auto";
  return { type: "allowed_tools", mode, tools: [...tools, ...searching] };
}
