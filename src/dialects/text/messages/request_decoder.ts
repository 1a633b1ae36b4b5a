import { readEndUser } from "./request/end_user.ts";
import type { Steps } from "../../../base/steps.ts";
import type {
  CacheMark,
  CanonicalRequest,
  OutputFormat,
  Reasoning,
  Tool,
  ToolChoice,
  Turn,
  UnsupportedField,
  WebSearch,
} from "../../kernel/canonical_request.ts";
import { invalidValue } from "../../../shared/fault.ts";
import { memberPath, numberAt, objectAt, oneOf, stringsAt, textAt } from "../../kernel/fields.ts";
import { borrowedFields } from "../../kernel/borrowed_fields.ts";
import { summaryQuestion } from "../../kernel/summary.ts";
import { FoundSettings } from "../../kernel/found_settings.ts";
import { defined } from "../../../base/defined.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { otherFields, unknownFields } from "../../kernel/other_fields.ts";
import { markLast, readCacheMark } from "../../kernel/read_cache_mark.ts";
import { netToolChanges, readTools } from "./request/decode_tools.ts";
import { checkBlocks, readSystem, readTurns } from "./request/decode_turns.ts";
import { knownFields } from "./known_fields.ts";

/** Reads a messages request into the canonical form. Null is "not set". */
export function* decodeRequest(body: unknown): Steps<CanonicalRequest> {
  const request = body as JsonRecord;
  yield* checkBlocks(request.messages);
  const unsupported = [
    ...unknownFields(request, knownFields, {
      weightOf: (name) => meaningful.has(name) ? "meaning" : "hint",
      others: borrowedFields.messages,
      changesNothing,
    }),
    ...(yield* otherFields(request, knownFields)),
  ];
  const system = readSystem(request.system, unsupported);
  const read = yield* readTurns(request.messages, unsupported);
  const turns = markLastTurn(read, readCacheMark(request, "", false));
  const { tools, webSearch: search } = readTools(request, unsupported);
  const question = readCompaction(request, unsupported);
  const { webSearch, ...choice } = question
    ? withoutTools(tools, search)
    : readToolChoice(request, tools, search, unsupported);
  const { settings, paths } = readSettings(request, choice, unsupported, question !== undefined);
  return {
    model: String(request.model),
    stream: request.stream === true,
    system,
    turns: question ? [...turns, question] : turns,
    tools,
    ...settings,
    ...(question
      ? { asksForSummary: "optional", toolChanges: netToolChanges(request) } as const
      : {}),
    ...defined({ webSearch }),
    unsupported,
    paths,
  };
}

/** Fields that change what is done or where, not only how well. */
const meaningful: ReadonlySet<string> = new Set([
  ...["container", "inference_geo", "mcp_servers"],
]);

function changesNothing(name: string, value: unknown): boolean {
  if (name === "speed") return value === "standard";
  return name === "inference_geo" && (value === "global" || value === "not_available");
}

/** Automatic caching (`cache_control` of the request itself) marks the end of the prompt. */
function markLastTurn(turns: readonly Turn[], { cache }: { cache?: CacheMark }): Turn[] {
  const [last] = turns.slice(-1);
  if (!cache || !last) return [...turns];
  const mark = { cache: { ...cache, path: "cache_control" } };
  return [...turns.slice(0, -1), { ...last, parts: markLast(last.parts, mark) }];
}

/** Reads the settings. A summary is plain text, written to its end. */
function readSettings(
  request: JsonRecord,
  { toolChoice, parallelToolCalls }: Choice,
  unsupported: UnsupportedField[],
  isSummary: boolean,
): FoundSettings {
  const found = new FoundSettings(request);
  const format = isRecord(request.output_format) ? "output_format" : "output_config.format";
  const reasoning = isRecord(request.thinking) ? "thinking" : readEffort(request).path;
  found.set("toolChoice", toolChoice, "tool_choice");
  found.set("parallelToolCalls", parallelToolCalls, "tool_choice.disable_parallel_tool_use");
  found.set("maxOutputTokens", readMaxTokens(request, unsupported), "max_tokens");
  found.set("temperature", numberAt(request, "temperature"), "temperature");
  found.set("topP", numberAt(request, "top_p"), "top_p");
  found.set("topK", numberAt(request, "top_k"), "top_k");
  const stop = stringsAt(request.stop_sequences, "stop_sequences");
  if (!isSummary) found.set("stop", stop, "stop_sequences");
  if (!isSummary) found.set("format", readFormat(request, unsupported), format);
  found.set("reasoning", readReasoning(request, unsupported), reasoning);
  found.set("user", readUser(request), "metadata.user_id");
  found.set("serviceTier", readServiceTier(request), "service_tier");
  return found;
}

function readMaxTokens(request: JsonRecord, unsupported: UnsupportedField[]): number | undefined {
  const value = numberAt(request, "max_tokens");
  if (value !== 0) return value;
  // The caller wants nothing written, only the prompt cached: no other dialect can do that.
  unsupported.push({ path: "max_tokens", value, weight: "meaning" });
  return 1;
}

/** Whether a request asks for a summary of its conversation in place of an answer. */
export function asksForSummary(body: unknown): boolean {
  return asRecord(asRecord(body).compaction).type === "summarize";
}

/**
 * Reads `compaction`, which asks for a summary of the conversation in place of an answer. Returns
 * the turn that asks a model for it.
 */
function readCompaction(request: JsonRecord, unsupported: UnsupportedField[]): Turn | undefined {
  const compaction = objectAt(request, "compaction");
  if (!compaction) return undefined;
  const path = "compaction";
  if (compaction.type !== "summarize") {
    if (typeof compaction.type !== "string") throw invalidValue(`${path}.type`, "expected a type");
    unsupported.push({ path, value: compaction, weight: "meaning" });
    return undefined;
  }
  const instructions = textAt(compaction, "instructions", path) ?? "";
  const text = instructions.trim() === "" ? summaryQuestion : instructions;
  return { role: "user", parts: [{ type: "text", text, path }], path };
}

/**
 * For a summary no tool may be called. The tools are sent all the same, as the conversation has
 * calls of them.
 */
function withoutTools(tools: readonly Tool[], webSearch: WebSearch | undefined): Choice {
  return {
    ...(tools.length > 0 || webSearch ? { toolChoice: { mode: "none" } } : {}),
    webSearch: webSearch && { ...webSearch, demanded: false },
  };
}

interface Choice {
  toolChoice?: ToolChoice;
  parallelToolCalls?: boolean;
  webSearch?: WebSearch | undefined;
}

function readToolChoice(
  request: JsonRecord,
  tools: readonly Tool[],
  webSearch: WebSearch | undefined,
  unsupported: UnsupportedField[],
): Choice {
  const choice = objectAt(request, "tool_choice");
  if (!choice) return { webSearch };
  const parallel = {
    ...(choice.disable_parallel_tool_use === true ? { parallelToolCalls: false } : {}),
    webSearch,
  };
  switch (choice.type) {
    case "auto":
    case "none":
      return { toolChoice: { mode: choice.type }, ...parallel };
    case "any":
      return { toolChoice: { mode: "required" }, ...parallel };
    case "tool": {
      const name = textAt(choice, "name", "tool_choice");
      if (name === undefined) throw invalidValue("tool_choice.name", "expected the name of a tool");
      if (webSearch && name === "web_search" && !tools.some((tool) => tool.name === name)) {
        const paths = { ...webSearch.paths, demanded: "tool_choice" };
        return { ...parallel, webSearch: { ...webSearch, demanded: true, paths } };
      }
      return { toolChoice: { mode: "required", names: [name] }, ...parallel };
    }
    default:
      if (typeof choice.type !== "string") {
        throw invalidValue("tool_choice.type", "expected a type");
      }
      unsupported.push({ path: "tool_choice", value: choice, weight: "meaning" });
      return parallel;
  }
}

/** Reads `output_config.format`, or `output_format`, its name in the beta. */
function readFormat(
  request: JsonRecord,
  unsupported: UnsupportedField[],
): OutputFormat | undefined {
  const config = objectAt(request, "output_config");
  const older = objectAt(request, "output_format");
  const path = older ? "output_format" : "output_config.format";
  const format = older ?? objectAt(config ?? {}, "format", "output_config");
  if (!format) return undefined;
  if (format.type !== "json_schema") {
    if (typeof format.type !== "string") throw invalidValue(`${path}.type`, "expected a type");
    unsupported.push({ path, value: format, weight: "meaning" });
    return undefined;
  }
  if (!isRecord(format.schema)) throw invalidValue(`${path}.schema`, "expected an object");
  return { type: "json-schema", name: "output", schema: format.schema, strict: true };
}

const efforts = ["low", "medium", "high", "xhigh", "max"] as const;

/** Reads the effort for this answer: a `system` message may change it for the turns after it. */
function readEffort(
  request: JsonRecord,
): { effort: typeof efforts[number] | undefined; path: string } {
  const messages = Array.isArray(request.messages) ? request.messages : [];
  const at = messages.findLastIndex((message) =>
    isRecord(message) && message.role === "system" && isRecord(message.output_config) &&
    (message.output_config.effort ?? null) !== null
  );
  const within = at < 0 ? "" : `messages[${at}]`;
  const config = memberPath("output_config", within);
  const path = `${config}.effort`;
  const owner = at < 0 ? request : messages[at] as JsonRecord;
  const { effort } = objectAt(owner, "output_config", within) ?? {};
  return { effort: oneOf(textAt({ effort }, "effort", config), efforts, path), path };
}

/** Reads `thinking` and `output_config.effort`. */
function readReasoning(
  request: JsonRecord,
  unsupported: UnsupportedField[],
): Reasoning | undefined {
  const { effort, path: effortPath } = readEffort(request);
  const thinking = objectAt(request, "thinking");
  if (!thinking) return effort === undefined ? undefined : { effort };
  const show = thinking.display !== "omitted";
  switch (thinking.type) {
    case "enabled": {
      const budgetTokens = numberAt(thinking, "budget_tokens", "thinking");
      return { ...defined({ effort, budgetTokens }), show };
    }
    case "adaptive":
      return { ...defined({ effort }), show };
    case "disabled":
    case "between_tools":
      if (effort !== undefined) {
        unsupported.push({ path: effortPath, value: effort, weight: "hint" });
      }
      return { effort: "none" };
    default:
      // The vendor may add types of thinking.
      if (typeof thinking.type !== "string") throw invalidValue("thinking.type", "expected a type");
      unsupported.push({ path: "thinking", value: thinking, weight: "hint" });
      return effort === undefined ? undefined : { effort };
  }
}

function readUser(request: JsonRecord): string | undefined {
  const metadata = objectAt(request, "metadata") ?? {};
  textAt(metadata, "user_id", "metadata");
  return readEndUser(metadata).user;
}

/** The canonical names are the chat dialect's: `standard_only` is `default`. */
function readServiceTier(request: JsonRecord): string | undefined {
  const tier = asString(request.service_tier);
  return tier === "standard_only" ? "default" : tier;
}
