import { defined } from "../../../../base/defined.ts";
import { pushAll } from "../../../../base/lists.ts";
import type { SchemaBudget } from "../../../kernel/schema_refs.ts";
import type { CanonicalRequest, Loss, Tool, WebSearch } from "../../../kernel/canonical_request.ts";
import { customToolDescription, customToolInput } from "../../../kernel/custom_tool.ts";
import { isRecord } from "../../../kernel/json.ts";
import { aliasToolNames, plainToolName } from "../../../kernel/tool_names.ts";
import { loseSearchFields, writeSearchLocation } from "../../../kernel/web_search.ts";
import type { CacheMarks } from "./cache_marks.ts";
import type { FormatPlan } from "./encode_format.ts";
import type { ModelFacts } from "../models.ts";
import { strictSchema } from "./strict_schema.ts";
import { inputSchema, toolSchema } from "../../../kernel/tool_schema.ts";
import { settingPath } from "../../../kernel/setting_losses.ts";

/** The tools and tool choice to send, and what is needed to map the answer back. */
interface ToolPlan {
  fields: { tools?: unknown[]; tool_choice?: Record<string, unknown> };
  /** The model must call a tool. */
  isForced: boolean;
  /** The request offers no tool; those that the conversation used are only named. */
  isStub: boolean;
  /** An instruction for the system text, if forcing a tool is refused. */
  instruction?: string;
  aliasOf: (name: string) => string;
  toolNames: Readonly<Record<string, string>>;
  customTools: string[];
  jsonTool: string | undefined;
}

const searchName = "web_search";

interface ToolContext {
  facts: ModelFacts;
  format: FormatPlan;
  search: WebSearch | undefined;
  marks: CacheMarks;
  losses: Loss[];
  room: SchemaBudget;
}

export function planTools(
  request: CanonicalRequest,
  { facts, format, search, marks, losses, room }: ToolContext,
): ToolPlan {
  const used = usedNames(request);
  const names = [...new Set([...request.tools.map((tool) => tool.name), ...used])];
  const { aliasOf, toolNames } = aliasToolNames(names, plainToolName, search && searchName);
  const jsonTool = format.tool ? freeName(names.map(aliasOf)) : undefined;
  const sent = toolsToSend(request, used);
  const tools: unknown[] = sent.map((tool) =>
    writeTool(tool, { facts, aliasOf, marks, losses, room })
  );
  if (format.tool && jsonTool !== undefined) {
    const { description, schema } = format.tool;
    tools.push({ name: jsonTool, description, input_schema: schema });
  }
  // No search is made for a summary, so none of the search's fields is lost.
  const searchLosses = request.asksForSummary ? [] : losses;
  if (search) tools.push(marks.mark(writeSearch(search, searchLosses), search));
  // The vendor refuses a conversation with tool calls if no tools are sent.
  const isStub = tools.length === 0;
  if (isStub) {
    pushAll(tools, used.map((name) => ({ name: aliasOf(name), input_schema: inputSchema({}) })));
  }
  const choice = isStub ? { type: "none" } : writeChoice(request, { jsonTool, aliasOf, search });
  const isForced = choice?.type === "any" || choice?.type === "tool";
  const downgraded = isForced && !facts.forcedTools;
  const isAsked = request.toolChoice !== undefined || search?.demanded === true;
  if (downgraded && isAsked && jsonTool === undefined) {
    const path = search?.paths.demanded ?? settingPath(request, "toolChoice");
    losses.push({ path, weight: "hint" });
  }
  return {
    fields: tools.length === 0
      ? {}
      : { tools, ...(choice ? { tool_choice: downgraded ? unforced(choice) : choice } : {}) },
    isForced: isForced && !downgraded,
    isStub,
    ...(downgraded ? { instruction: instructionFor(choice) } : {}),
    aliasOf,
    toolNames,
    customTools: request.tools.filter((tool) => tool.type === "custom").map((tool) => tool.name),
    jsonTool,
  };
}

/** Writes the oldest version of the tool, which every model that can search accepts. */
function writeSearch(search: WebSearch, losses: Loss[]): Record<string, unknown> {
  const { allowedDomains, blockedDomains, maxUses, location } = search;
  loseSearchFields(search, ["contextSize"], losses);
  // Only one of the two lists may be set.
  if (allowedDomains) loseSearchFields(search, ["blockedDomains"], losses);
  return {
    type: "web_search_20250305",
    name: searchName,
    ...(maxUses === undefined ? {} : { max_uses: maxUses }),
    ...(allowedDomains
      ? { allowed_domains: allowedDomains }
      : blockedDomains
      ? { blocked_domains: blockedDomains }
      : {}),
    ...(location ? { user_location: writeSearchLocation(location) } : {}),
  };
}

function usedNames(request: CanonicalRequest): string[] {
  const names = new Set<string>();
  for (const { parts } of request.turns) {
    for (const part of parts) if (part.type === "tool-call") names.add(part.name);
  }
  return [...names];
}

/**
 * Returns the tools to send. If the choice names tools, only those are sent, and those that were
 * called before.
 */
function toolsToSend(request: CanonicalRequest, used: readonly string[]): Tool[] {
  const names = request.toolChoice?.names;
  if (!names) return request.tools;
  // A single forced tool is named by the choice itself; the others stay, to keep the prompt cache
  // valid.
  if (request.toolChoice?.mode === "required" && names.length === 1) return request.tools;
  const sent = new Set([...names, ...used]);
  return request.tools.filter((tool) => sent.has(tool.name));
}

function freeName(names: readonly string[]): string {
  const taken = new Set(names);
  let name = "json_response";
  while (taken.has(name)) name += "_";
  return name;
}

interface Writing extends Pick<ToolContext, "facts" | "marks" | "losses" | "room"> {
  aliasOf: (name: string) => string;
}

function writeTool(tool: Tool, writing: Writing): Record<string, unknown> {
  const name = writing.aliasOf(tool.name);
  const written = tool.type === "custom"
    ? { name, ...writeCustom(tool) }
    : { name, ...writeFunction(tool, writing) };
  return writing.marks.mark(written, tool);
}

function writeFunction(tool: Tool, { facts, losses, room }: Writing): Record<string, unknown> {
  const described = tool.description === undefined ? {} : { description: tool.description };
  const schema = toolSchema(tool.parameters, room, tool.path);
  if (tool.strict !== true) return { ...described, input_schema: schema };
  const strict = strictSchema(schema, room);
  const isEmpty = isRecord(schema.properties) && Object.keys(schema.properties).length === 0;
  if (facts.structuredOutput && !strict.isRefused && (!strict.isOpen || isEmpty)) {
    return { ...described, input_schema: strict.schema, strict: true };
  }
  losses.push({ path: `${tool.path}.strict`, weight: "hint" });
  return { ...described, input_schema: schema };
}

/** Writes a custom tool, which takes free text, as a function with one text property. */
function writeCustom(tool: Tool): Record<string, unknown> {
  return {
    ...defined({ description: customToolDescription(tool) }),
    input_schema: customToolInput,
  };
}

type Choice = Record<string, unknown> & { type: string };

function writeChoice(request: CanonicalRequest, { jsonTool, aliasOf, search }: {
  jsonTool: string | undefined;
  aliasOf: (name: string) => string;
  search: WebSearch | undefined;
}): Choice | undefined {
  const { toolChoice, parallelToolCalls } = request;
  const serial = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  const [only, ...others] = toolChoice?.names ?? [];
  const isNamed = toolChoice?.mode === "required" && only !== undefined && others.length === 0;
  if (isNamed) return { type: "tool", name: aliasOf(only), ...serial };
  if (search?.demanded) return { type: "tool", name: searchName, ...serial };
  if (jsonTool !== undefined) {
    const isAlone = (request.tools.length === 0 && !search) || toolChoice?.mode === "none";
    return isAlone
      ? { type: "tool", name: jsonTool, disable_parallel_tool_use: true }
      : { type: "any", disable_parallel_tool_use: true };
  }
  switch (toolChoice?.mode) {
    case "none":
      return { type: "none" };
    case "required":
      return { type: "any", ...serial };
    case "auto":
      return { type: "auto", ...serial };
    case undefined:
      return parallelToolCalls === false ? { type: "auto", ...serial } : undefined;
  }
}

function unforced(choice: Choice): Choice {
  const { name: _, ...rest } = choice;
  return { ...rest, type: "auto" };
}

function instructionFor(choice: Choice | undefined): string {
  return choice?.type === "tool"
    ? `You must call the tool ${choice.name} in your answer.`
    : "You must call one of the tools in your answer.";
}
