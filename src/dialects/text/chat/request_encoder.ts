import type { Steps } from "../../../base/steps.ts";
import type {
  CanonicalRequest,
  Loss,
  OutputFormat,
  Tool,
  WebSearch,
} from "../../kernel/canonical_request.ts";
import { Breakpoints } from "../../kernel/breakpoints.ts";
import { customAsFunctions } from "../../kernel/custom_tool.ts";
import { defined } from "../../../base/defined.ts";
import { formatSchema } from "../../kernel/format_schema.ts";
import { functionSchema } from "../../kernel/function_schema.ts";
import { effortOf } from "../../kernel/reasoning.ts";
import { withoutRefused } from "../../kernel/refused_settings.ts";
import { SchemaBudget } from "../../kernel/schema_refs.ts";
import { aliasToolNames, plainToolName, toolNamesOf } from "../../kernel/tool_names.ts";
import { type EncodedRequest, noEmulations, type Target } from "../../kernel/dialect.ts";
import { loseSearchFields, searchFor, writeSearchLocation } from "../../kernel/web_search.ts";
import { writeMessages } from "./request/encode_messages.ts";
import { cacheSettings, changesNothing, loseSettings } from "../../kernel/setting_losses.ts";

/**
 * Writes a request for a chat-style vendor with the fields that every such vendor accepts; what
 * can't be carried is listed as a loss.
 */
export function* encodeRequest(
  asked: CanonicalRequest,
  target: Target,
): Steps<EncodedRequest> {
  const { request: allowed, losses } = withoutRefused(asked, target);
  const { request, customTools } = yield* customAsFunctions(allowed, target.quirks);
  for (const { path, weight } of request.unsupported) losses.push({ path, weight });
  const { aliasOf, toolNames } = aliasToolNames(
    yield* toolNamesOf(request),
    plainToolName,
    target.quirks?.reservedTool,
  );
  // Only OpenRouter and some open-model servers accept them.
  const hasImages = target.quirks?.imageModels?.test(target.model) === true;
  loseSettings(request, hasImages ? ["topK"] : ["topK", "modalities"], losses);
  const marks = new Breakpoints(request, target, losses);
  const search = searchFor(request, target, losses);
  const { unwrap: jsonUnwrap, ...answer } = formatSchema(request, losses);
  const body: Record<string, unknown> = {
    model: target.model,
    messages: yield* writeMessages(request, { aliasOf, marks, losses }),
    ...defined({
      max_completion_tokens: request.maxOutputTokens,
      temperature: request.temperature,
      top_p: request.topP,
      n: request.choices === 1 ? undefined : request.choices,
      stop: request.stop?.length ? request.stop : undefined,
      modalities: hasImages && !changesNothing(request, "modalities")
        ? request.modalities
        : undefined,
      seed: request.seed,
      frequency_penalty: request.frequencyPenalty || undefined,
      presence_penalty: request.presencePenalty || undefined,
      logprobs: request.logprobs ? true : undefined,
      top_logprobs: request.logprobs?.top || undefined,
      logit_bias: request.logitBias,
      response_format: writeFormat(request.format, answer),
      reasoning_effort: request.reasoning && effortOf(request.reasoning),
      verbosity: request.verbosity,
      user: request.user,
      service_tier: request.serviceTier,
      prompt_cache_key: marks.key(),
      web_search_options: target.webSearch === "options" && search
        ? writeSearchOptions(search, losses)
        : undefined,
    }),
    ...writeTools(request, target.webSearch === "tool" ? search : undefined, aliasOf, losses),
    ...(request.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
  loseSettings(request, ["metadata", ...cacheSettings], losses);
  return { body, losses, emulations: { ...noEmulations, toolNames, customTools, jsonUnwrap } };
}

/** The dialect's own form, for models that search before every answer. */
function writeSearchOptions(search: WebSearch, losses: Loss[]): Record<string, unknown> {
  loseSearchFields(search, ["allowedDomains", "blockedDomains", "maxUses"], losses);
  return defined({
    search_context_size: search.contextSize,
    user_location: search.location && { type: "approximate", approximate: search.location },
  });
}

/** OpenRouter's search tool (@openrouter/sdk 1.3.19, `ChatWebSearchShorthand`). */
function writeSearchTool(search: WebSearch): Record<string, unknown> {
  return {
    type: "web_search",
    ...defined({
      allowed_domains: search.allowedDomains,
      excluded_domains: search.blockedDomains,
      max_uses: search.maxUses,
      search_context_size: search.contextSize,
      user_location: writeSearchLocation(search.location),
    }),
  };
}

function writeTools(
  request: CanonicalRequest,
  search: WebSearch | undefined,
  aliasOf: (name: string) => string,
  losses: Loss[],
): Record<string, unknown> {
  // Several vendors refuse these fields without tools.
  if (request.tools.length === 0 && !search) return {};
  const room = new SchemaBudget();
  const tools = request.tools.map((tool) => writeTool(tool, { aliasOf, room, losses }));
  if (search?.demanded && request.tools.length > 0) {
    losses.push({ path: search.paths.demanded ?? search.path, weight: "hint" });
  }
  return {
    tools: search ? [...tools, writeSearchTool(search)] : tools,
    ...defined({
      tool_choice: search?.demanded ? "required" : writeToolChoice(request, aliasOf),
      parallel_tool_calls: request.parallelToolCalls,
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
    return { type: "custom", custom: { ...named, ...defined({ format: tool.format }) } };
  }
  return { type: "function", function: { ...named, ...functionSchema(tool, room, losses) } };
}

function writeToolChoice(request: CanonicalRequest, aliasOf: (name: string) => string): unknown {
  const choice = request.toolChoice;
  if (!choice?.names) return choice?.mode;
  const types = new Map(request.tools.toReversed().map(({ name, type }) => [name, type]));
  const tools = choice.names.map((name) => writeToolName(types.get(name), name, aliasOf));
  if (choice.mode === "required" && tools.length === 1) return tools[0];
  return { type: "allowed_tools", allowed_tools: { mode: choice.mode, tools } };
}

function writeToolName(
  type: Tool["type"] = "function",
  name: string,
  aliasOf: (name: string) => string,
): Record<string, unknown> {
  return { type, [type]: { name: aliasOf(name) } };
}

function writeFormat(
  format: OutputFormat | undefined,
  answer: Pick<ReturnType<typeof formatSchema>, "schema" | "strict">,
): unknown {
  if (format === undefined || format.type === "text") return undefined;
  if (format.type === "json") return { type: "json_object" };
  const { name, description } = format;
  return { type: "json_schema", json_schema: { name, ...defined({ ...answer, description }) } };
}
