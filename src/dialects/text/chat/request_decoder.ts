import type { Steps } from "../../../base/steps.ts";
import type {
  CanonicalRequest,
  OutputFormat,
  Reasoning,
  Tool,
  ToolChoice,
  UnsupportedField,
} from "../../kernel/canonical_request.ts";
import { invalidValue } from "../../../shared/fault.ts";
import { booleanAt, numberAt, objectAt, oneOf, requiredText, textAt } from "../../kernel/fields.ts";
import { FoundSettings } from "../../kernel/found_settings.ts";
import { defined } from "../../../base/defined.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import type { DialectQuirks } from "../../kernel/dialect.ts";
import { refusesSettings } from "../../kernel/refused_settings.ts";
import { otherFields } from "../../kernel/other_fields.ts";
import { readMessages } from "./request/decode_messages.ts";
import { readCacheMark } from "../../kernel/read_cache_mark.ts";
import { readModalities } from "../../kernel/modalities.ts";
import { effortLevels } from "../../kernel/reasoning.ts";
import { readSearch } from "./request/decode_search.ts";
import { unsupportedFields } from "./request/unsupported_fields.ts";
import { isVendorTool, knownFieldsIn } from "./known_fields.ts";

/** Reads a chat request into the canonical form. Null is "not set". */
export function* decodeRequest(body: unknown): Steps<CanonicalRequest> {
  const request = body as JsonRecord;
  const unsupported = [
    ...unsupportedFields(request),
    ...(yield* otherFields(request, knownFieldsIn(request))),
  ];
  const { system, turns } = yield* readMessages(
    request.messages as readonly unknown[],
    unsupported,
  );
  const { settings, paths } = readSettings(request, unsupported);
  return {
    model: String(request.model),
    stream: request.stream === true,
    system,
    turns,
    tools: readTools(request),
    unsupported,
    ...settings,
    ...defined({ webSearch: readSearch(request) }),
    paths,
  };
}

/** Whether this model is known to refuse a setting that a request asks of another one. */
export function refusesForm(body: unknown, model: string, quirks: DialectQuirks): boolean {
  const target = { model, maxOutputTokens: undefined, quirks };
  return refusesSettings(() => readSettings(asRecord(body), []), target);
}

function readSettings(request: JsonRecord, unsupported: UnsupportedField[]): FoundSettings {
  const found = new FoundSettings(request);
  const maxOutputTokens = numberAt(request, "max_completion_tokens") ??
    numberAt(request, "max_tokens");
  const user = textAt(request, "safety_identifier") ?? textAt(request, "user");
  const metadata = objectAt(request, "metadata") as Record<string, string> | undefined;
  found.set("toolChoice", readToolChoice(request), "tool_choice", "function_call");
  found.set("parallelToolCalls", booleanAt(request, "parallel_tool_calls"), "parallel_tool_calls");
  found.set("maxOutputTokens", maxOutputTokens, "max_completion_tokens", "max_tokens");
  found.set("temperature", numberAt(request, "temperature"), "temperature");
  found.set("topP", numberAt(request, "top_p"), "top_p");
  found.set("topK", numberAt(request, "top_k"), "top_k");
  found.set("stop", readStop(request.stop), "stop");
  found.set("choices", numberAt(request, "n"), "n");
  found.set("seed", numberAt(request, "seed"), "seed");
  found.set("frequencyPenalty", numberAt(request, "frequency_penalty"), "frequency_penalty");
  found.set("presencePenalty", numberAt(request, "presence_penalty"), "presence_penalty");
  found.set("logprobs", readLogprobs(request), "logprobs");
  found.set("logitBias", readLogitBias(request), "logit_bias");
  found.set("format", readFormat(request.response_format, unsupported), "response_format");
  found.set("reasoning", readReasoning(request), "reasoning_effort", "reasoning");
  found.set("modalities", readModalities(request.modalities), "modalities");
  found.set("verbosity", textAt(request, "verbosity"), "verbosity");
  found.set("user", user, "safety_identifier", "user");
  found.set("serviceTier", textAt(request, "service_tier"), "service_tier");
  found.set("promptCacheKey", textAt(request, "prompt_cache_key"), "prompt_cache_key");
  found.set("promptCacheOptions", readCacheOptions(request), "prompt_cache_options");
  const retention = textAt(request, "prompt_cache_retention");
  found.set("promptCacheRetention", retention, "prompt_cache_retention");
  found.set("metadata", metadata, "metadata");
  return found;
}

/** The options that chat and responses share; others are reported. */
function readCacheOptions(request: JsonRecord): JsonRecord | undefined {
  const options = objectAt(request, "prompt_cache_options") ?? {};
  const shared = defined({ mode: options.mode ?? undefined, ttl: options.ttl ?? undefined });
  return Object.keys(shared).length === 0 ? undefined : shared;
}

/** `tools`, or the deprecated `functions` that they replaced. */
function readTools(request: JsonRecord): Tool[] {
  if (Array.isArray(request.functions)) {
    return request.functions.map((one, index) => readFunction(one, `functions[${index}]`));
  }
  const tools = request.tools ?? [];
  if (!Array.isArray(tools)) throw invalidValue("tools", "expected an array");
  return tools.flatMap((tool: unknown, index) => {
    const path = `tools[${index}]`;
    if (!isRecord(tool)) throw invalidValue(path, "expected an object");
    if (isVendorTool(tool)) return [];
    const mark = readCacheMark(tool, path);
    if (tool.type === "custom") return [{ ...readCustom(tool, path), ...mark }];
    return [{ ...readFunction(tool.function, `${path}.function`), ...mark, path }];
  });
}

function readFunction(value: unknown, path: string): Tool {
  if (!isRecord(value)) throw invalidValue(path, "expected an object");
  return {
    type: "function",
    name: requiredText(value, "name", path),
    ...defined({
      description: textAt(value, "description", path),
      parameters: objectAt(value, "parameters", path),
      strict: booleanAt(value, "strict", path),
    }),
    ...readCacheMark(value, path, false),
    path,
  };
}

function readCustom(tool: JsonRecord, path: string): Tool {
  const custom = asRecord(tool.custom);
  return {
    type: "custom",
    name: requiredText(custom, "name", `${path}.custom`),
    ...defined({
      description: textAt(custom, "description", `${path}.custom`),
      format: custom.format ?? undefined,
    }),
    path,
  };
}

function readToolChoice(request: JsonRecord): ToolChoice | undefined {
  const choice = request.tool_choice ?? request.function_call;
  if (choice === undefined || choice === null) return undefined;
  if (choice === "none" || choice === "auto" || choice === "required") return { mode: choice };
  if (isRecord(choice)) {
    if (choice.type === "allowed_tools" && isRecord(choice.allowed_tools)) {
      const { mode, tools } = choice.allowed_tools;
      const names = Array.isArray(tools)
        ? tools.map(toolNameOf).filter((one) => one !== undefined)
        : [];
      return { mode: mode === "required" ? "required" : "auto", names };
    }
    if (isVendorTool(choice)) return undefined;
    const name = toolNameOf(choice) ?? asString(choice.name);
    if (name !== undefined) return { mode: "required", names: [name] };
  }
  throw invalidValue(
    "tool_choice",
    "expected 'none', 'auto', 'required' or an object that names a tool",
  );
}

function toolNameOf(tool: unknown): string | undefined {
  if (!isRecord(tool)) return undefined;
  const body = isRecord(tool.function) ? tool.function : asRecord(tool.custom);
  return asString(body.name);
}

function readStop(stop: unknown): string[] | undefined {
  if (stop === undefined || stop === null) return undefined;
  const list = typeof stop === "string" ? [stop] : stop;
  if (!Array.isArray(list) || !list.every((one) => typeof one === "string")) {
    throw invalidValue("stop", "expected a string or an array of strings");
  }
  return list;
}

function readLogprobs(request: JsonRecord): { top: number } | undefined {
  const top = numberAt(request, "top_logprobs") ?? 0;
  return booleanAt(request, "logprobs") ? { top } : undefined;
}

function readLogitBias(request: JsonRecord): CanonicalRequest["logitBias"] {
  const bias = objectAt(request, "logit_bias") ?? {};
  return Object.keys(bias).length === 0 ? undefined : bias as Readonly<Record<string, number>>;
}

function readFormat(format: unknown, unsupported: UnsupportedField[]): OutputFormat | undefined {
  if (format === undefined || format === null) return undefined;
  if (!isRecord(format)) throw invalidValue("response_format", "expected an object");
  if (format.type === "text") return { type: "text" };
  if (format.type === "json_object") return { type: "json" };
  if (format.type !== "json_schema") {
    if (typeof format.type !== "string") {
      throw invalidValue("response_format.type", "expected a type");
    }
    unsupported.push({ path: "response_format", value: format, weight: "meaning" });
    return undefined;
  }
  const path = "response_format.json_schema";
  const named = format.json_schema;
  if (!isRecord(named)) throw invalidValue(path, "expected an object");
  return {
    type: "json-schema",
    name: requiredText(named, "name", path),
    schema: objectAt(named, "schema", path) ?? {},
    ...defined({
      description: textAt(named, "description", path),
      strict: booleanAt(named, "strict", path),
    }),
  };
}

/** `reasoning_effort`, or the aggregator's `reasoning` object. */
function readReasoning(request: JsonRecord): Reasoning | undefined {
  const extended = objectAt(request, "reasoning") ?? {};
  const plain = textAt(request, "reasoning_effort");
  const effort = plain === undefined
    ? oneOf(textAt(extended, "effort", "reasoning"), effortLevels, "reasoning.effort")
    : oneOf(plain, effortLevels, "reasoning_effort");
  const budgetTokens = numberAt(extended, "max_tokens", "reasoning");
  if (effort === undefined && budgetTokens === undefined) return undefined;
  // Chat clients ignore reasoning text or show it, so it is always requested.
  return { ...defined({ effort, budgetTokens }), show: extended.exclude !== true };
}
