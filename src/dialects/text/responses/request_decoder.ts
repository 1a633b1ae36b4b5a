import type { Steps } from "../../../base/steps.ts";
import type {
  CanonicalRequest,
  OutputFormat,
  Reasoning,
  UnsupportedField,
  WebSearch,
} from "../../kernel/canonical_request.ts";
import { invalidValue, missingField } from "../../../shared/fault.ts";
import { booleanAt, numberAt, objectAt, oneOf, requiredText, textAt } from "../../kernel/fields.ts";
import { FoundSettings } from "../../kernel/found_settings.ts";
import { defined } from "../../../base/defined.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import type { DialectQuirks } from "../../kernel/dialect.ts";
import { refusesSettings } from "../../kernel/refused_settings.ts";
import { otherFields } from "../../kernel/other_fields.ts";
import { effortLevels } from "../../kernel/reasoning.ts";
import { readItems } from "./request/decode_items.ts";
import { asksForSummary } from "./conversation/summary.ts";
import { flatNames, offeredTools } from "./request/offered_tools.ts";
import { readTools } from "./request/decode_tools.ts";
import { unsupportedFields } from "./request/unsupported_fields.ts";
import { knownFields } from "./known_fields.ts";

/**
 * Reads a responses request into the canonical form. `previous_response_id` and item references
 * were resolved into `input` before (`conversation/state.ts`).
 */
export function* decodeRequest(body: unknown): Steps<CanonicalRequest> {
  const request = body as JsonRecord;
  const offered = offeredTools(request);
  const names = yield* flatNames(offered, request.input);
  const { system, turns, unsupported } = yield* readItems(
    request.input,
    textAt(request, "instructions"),
    names,
  );
  const { tools, toolChoice, unsupported: unsupportedTools, ...searching } = readTools(
    offered,
    request.tool_choice,
    names,
  );
  const webSearch = limitSearches(searching.webSearch, request);
  const isSummary = asksForSummary(request);
  // For a summary no tool may be called, since models in the middle of their work would go on with
  // it. The tools are sent all the same, as the conversation has calls of them and vendors cache
  // prompts that begin with them.
  const none = tools.length > 0 || webSearch ? { mode: "none" as const } : undefined;
  const found = readSettings(request, unsupported, isSummary);
  found.set("toolChoice", isSummary ? none : toolChoice, "tool_choice");
  return {
    model: String(request.model),
    stream: request.stream === true,
    system,
    turns,
    turnsPath: "input",
    repeatsMetadata: true,
    tools,
    ...(isSummary ? { asksForSummary: true as const } : {}),
    ...(Object.keys(names.namespaces).length > 0 ? { namespaces: names.namespaces } : {}),
    unsupported: [
      ...unsupported,
      // A summary is written without tools.
      ...(isSummary ? [] : unsupportedTools),
      ...unsupportedFields(request, webSearch?.maxUses !== undefined),
      ...(yield* otherFields(request, knownFields)),
    ],
    ...found.settings,
    ...defined({
      webSearch: isSummary && webSearch ? { ...webSearch, demanded: false } : webSearch,
    }),
    paths: found.paths,
  };
}

/**
 * Applies `max_tool_calls` to the web search, which is the only vendor-side tool that is carried.
 */
function limitSearches(search: WebSearch | undefined, request: JsonRecord): WebSearch | undefined {
  const maxUses = numberAt(request, "max_tool_calls");
  if (!search || search.maxUses !== undefined || maxUses === undefined || maxUses < 1) {
    return search;
  }
  return { ...search, maxUses, paths: { ...search.paths, maxUses: "max_tool_calls" } };
}

/** Whether this model is known to refuse a setting that a request asks of another one. */
export function refusesForm(body: unknown, model: string, quirks: DialectQuirks): boolean {
  const target = { model, maxOutputTokens: undefined, quirks };
  return refusesSettings(() => readSettings(asRecord(body), [], false), target);
}

/** Reads the settings. A summary is plain text, without format and log-probabilities. */
function readSettings(
  request: JsonRecord,
  unsupported: UnsupportedField[],
  isSummary: boolean,
): FoundSettings {
  const found = new FoundSettings(request);
  const text = objectAt(request, "text") ?? {};
  const [logprobs, format] = [readLogprobs(request), readFormat(text.format, unsupported)];
  const user = textAt(request, "safety_identifier") ?? textAt(request, "user");
  const metadata = objectAt(request, "metadata") as Record<string, string> | undefined;
  found.set("parallelToolCalls", booleanAt(request, "parallel_tool_calls"), "parallel_tool_calls");
  found.set("maxOutputTokens", numberAt(request, "max_output_tokens"), "max_output_tokens");
  found.set("temperature", numberAt(request, "temperature"), "temperature");
  found.set("topP", numberAt(request, "top_p"), "top_p");
  if (!isSummary) found.set("logprobs", logprobs, "include");
  if (!isSummary) found.set("format", format, "text.format");
  found.set("verbosity", textAt(text, "verbosity", "text"), "text.verbosity");
  found.set("reasoning", readReasoning(objectAt(request, "reasoning")), "reasoning");
  found.set("user", user, "safety_identifier", "user");
  found.set("serviceTier", textAt(request, "service_tier"), "service_tier");
  found.set("promptCacheKey", textAt(request, "prompt_cache_key"), "prompt_cache_key");
  found.set("metadata", metadata, "metadata");
  return found;
}

/**
 * Reads the log-probabilities, which `include` requests; `top_logprobs` is the number of
 * alternatives.
 */
function readLogprobs(request: JsonRecord): { top: number } | undefined {
  const { include } = request;
  if (include === undefined || include === null) return undefined;
  if (!Array.isArray(include)) throw invalidValue("include", "expected an array of strings");
  if (!include.includes("message.output_text.logprobs")) return undefined;
  return { top: numberAt(request, "top_logprobs") ?? 0 };
}

/** Reads `text.format`, which is flat, without the inner object that the chat dialect has. */
function readFormat(format: unknown, unsupported: UnsupportedField[]): OutputFormat | undefined {
  if (format === undefined || format === null) return undefined;
  if (!isRecord(format)) throw invalidValue("text.format", "expected an object");
  if (format.type === "text") return { type: "text" };
  if (format.type === "json_object") return { type: "json" };
  if (format.type !== "json_schema") {
    if (typeof format.type !== "string") throw invalidValue("text.format.type", "expected a type");
    unsupported.push({ path: "text.format", value: format, weight: "meaning" });
    return undefined;
  }
  const name = requiredText(format, "name", "text.format");
  if (!isRecord(format.schema)) throw missingField("text.format.schema");
  return {
    type: "json-schema",
    name,
    schema: format.schema,
    ...defined({
      description: textAt(format, "description", "text.format"),
      strict: booleanAt(format, "strict", "text.format"),
    }),
  };
}

/** Reads the reasoning settings. A caller that names a kind of summary wants to see reasoning. */
function readReasoning(reasoning: JsonRecord | undefined): Reasoning | undefined {
  if (!reasoning) return undefined;
  const effort = oneOf(
    textAt(reasoning, "effort", "reasoning"),
    effortLevels,
    "reasoning.effort",
  );
  const show = (asString(reasoning.summary) ?? asString(reasoning.generate_summary)) !== undefined;
  if (effort === undefined && !show) return undefined;
  return { ...defined({ effort }), show };
}
