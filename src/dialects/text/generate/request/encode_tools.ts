import { sha256Hex } from "../../../../base/hash.ts";
import { mapInSteps, type Steps } from "../../../../base/steps.ts";
import type { CanonicalRequest, Loss, Tool, WebSearch } from "../../../kernel/canonical_request.ts";
import { customToolDescription } from "../../../kernel/custom_tool.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { aliasToolNames, toolNamesOf } from "../../../kernel/tool_names.ts";
import { loseSearchFields, searchFields, searchFor } from "../../../kernel/web_search.ts";
import type { Target } from "../../../kernel/dialect.ts";
import type { ModelTraits } from "../models.ts";
import { lowerSchema } from "./schema_lowering.ts";
import type { SchemaBudget } from "../../../kernel/schema_refs.ts";
import { loseSetting } from "../../../kernel/setting_losses.ts";

/** Function names: dots and colons are accepted too, but no leading digit or dash. */
const acceptedName = /^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/;

interface ToolNames {
  aliasOf: (name: string) => string;
  /** Alias → the caller's name, for changed names only. */
  toolNames: Readonly<Record<string, string>>;
}

/** Aliases for the tools of the request and of its history. */
export function* nameTools(request: CanonicalRequest): Steps<ToolNames> {
  const names = yield* toolNamesOf(request);
  const named = aliasToolNames(names, acceptedName);
  const taken = new Set(names.map(named.aliasOf));
  const prefixed = new Map<string, string>();
  for (const name of names) {
    const alias = named.aliasOf(name);
    if (acceptedName.test(alias)) continue;
    const plain = `_${alias}`.slice(0, 64);
    const fit = taken.has(plain) ? `${plain.slice(0, 55)}_${sha256Hex(name).slice(0, 8)}` : plain;
    taken.add(fit);
    prefixed.set(name, fit);
  }
  const aliasOf = (name: string) => prefixed.get(name) ?? named.aliasOf(name);
  const changed = names.filter((name) => aliasOf(name) !== name);
  return { aliasOf, toolNames: Object.fromEntries(changed.map((name) => [aliasOf(name), name])) };
}

/**
 * Returns the web search, if the model accepts it together with the other tools; otherwise it is a
 * loss.
 */
export function planSearch(
  request: CanonicalRequest,
  target: Target,
  traits: ModelTraits,
  losses: Loss[],
): WebSearch | undefined {
  const isAble = traits.search && (traits.searchWithTools || request.tools.length === 0);
  const search = searchFor(request, target, losses, isAble);
  if (!search) return undefined;
  loseSearchFields(search, searchFields, losses);
  // Only functions can be forced.
  if (search.demanded) losses.push({ path: search.paths.demanded ?? search.path, weight: "hint" });
  return search;
}

/**
 * Writes `tools` and `toolConfig`; neither for a request without tools, where the vendor refuses
 * them.
 */
export function* writeTools(request: CanonicalRequest, { traits, search, aliasOf, losses, room }: {
  traits: ModelTraits;
  search: WebSearch | undefined;
  aliasOf: (name: string) => string;
  losses: Loss[];
  room: SchemaBudget;
}): Steps<Record<string, unknown>> {
  const searching = search ? [{ googleSearch: {} }] : [];
  if (request.tools.length === 0) return search ? { tools: searching } : {};
  if (request.parallelToolCalls === false) {
    loseSetting(request, "parallelToolCalls", "hint", losses);
  }
  const choice = request.toolChoice;
  // If the listed tools may but need not be called, the others aren't sent.
  const sent = choice?.names && choice.mode === "auto"
    ? toolsNamed(request.tools, choice.names)
    : request.tools;
  if (sent.length === 0) return search ? { tools: searching } : {};
  const plainMode = modeOf(request, sent);
  // The vendor refuses AUTO together with its own tools.
  const mode = search && plainMode === "AUTO" ? "VALIDATED" : plainMode;
  const declareTool = (tool: Tool) => declare(tool, traits, aliasOf, losses, room);
  const allowed = choice?.mode === "required" && choice.names
    ? { allowedFunctionNames: choice.names.map(aliasOf) }
    : {};
  const toolConfig = {
    ...(mode === undefined ? {} : { functionCallingConfig: { mode, ...allowed } }),
    // Required to combine functions with the vendor's own tools.
    ...(search ? { includeServerSideToolInvocations: true } : {}),
  };
  return {
    tools: [{ functionDeclarations: yield* mapInSteps(sent, declareTool, 1) }, ...searching],
    ...(Object.keys(toolConfig).length === 0 ? {} : { toolConfig }),
  };
}

function toolsNamed(tools: readonly Tool[], names: readonly string[]): Tool[] {
  const named = new Set(names);
  return tools.filter(({ name }) => named.has(name));
}

function modeOf(request: CanonicalRequest, tools: readonly Tool[]): string | undefined {
  switch (request.toolChoice?.mode) {
    case "none":
      return "NONE";
    case "required":
      return "ANY";
    default:
      if (tools.some(({ strict }) => strict === true)) return "VALIDATED";
      return request.toolChoice ? "AUTO" : undefined;
  }
}

function declare(
  tool: Tool,
  traits: ModelTraits,
  aliasOf: (name: string) => string,
  losses: Loss[],
  room: SchemaBudget,
): Record<string, unknown> {
  const { parameters, description } = tool.type === "custom"
    ? { parameters: customInput, description: customToolDescription(tool) }
    : tool;
  return {
    name: aliasOf(tool.name),
    description: description ?? "",
    ...(parameters ? writeParameters(parameters, tool, traits, losses, room) : {}),
  };
}

/** A custom tool takes free text: as a function it has one text property. */
const customInput = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
};

/** A function without parameters omits them: an empty object is refused. */
function writeParameters(
  parameters: JsonRecord,
  tool: Tool,
  traits: ModelTraits,
  losses: Loss[],
  room: SchemaBudget,
): Record<string, unknown> {
  const schema = { ...parameters, type: "object" };
  const lowered = lowerSchema(schema, traits, tool.path, losses, room);
  const whole = lowered.jsonSchema ?? lowered.subset;
  if (!whole || takesNothing(whole)) return {};
  return lowered.jsonSchema
    ? { parametersJsonSchema: lowered.jsonSchema }
    : { parameters: lowered.subset };
}

function takesNothing(schema: JsonRecord): boolean {
  if (isRecord(schema.properties) && Object.keys(schema.properties).length > 0) return false;
  return !isRecord(schema.additionalProperties) && !("anyOf" in schema) && !("$ref" in schema);
}
