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
import { oneOf } from "../../kernel/fields.ts";
import { FoundSettings } from "../../kernel/found_settings.ts";
import { defined } from "../../../base/defined.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { otherFields } from "../../kernel/other_fields.ts";
import { readMessages } from "./request/decode_messages.ts";
import { readCacheMark } from "../../kernel/read_cache_mark.ts";
import { effortLevels } from "../../kernel/reasoning.ts";
import { readSearch } from "./request/decode_search.ts";
import { unsupportedFields } from "./request/unsupported_fields.ts";
import { isVendorTool, knownFields } from "./known_fields.ts";

/** Reads a chat request into the canonical form. Null is "not set". */
export function* decodeRequest(body: unknown): Steps<CanonicalRequest> {
  const request = body as JsonRecord;
  const unsupported = [
    ...unsupportedFields(request),
    ...(yield* otherFields(request, knownFields)),
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

function readSettings(request: JsonRecord, unsupported: UnsupportedField[]): FoundSettings {
  const found = new FoundSettings(request);
  const maxOutputTokens = number(request.max_completion_tokens) ?? number(request.max_tokens);
  const user = asString(request.safety_identifier) ?? asString(request.user);
  const { logprobs, top_logprobs: top, metadata } = request;
  found.set("toolChoice", readToolChoice(request), "tool_choice", "function_call");
  found.set("parallelToolCalls", flag(request.parallel_tool_calls), "parallel_tool_calls");
  found.set("maxOutputTokens", maxOutputTokens, "max_completion_tokens", "max_tokens");
  found.set("temperature", number(request.temperature), "temperature");
  found.set("topP", number(request.top_p), "top_p");
  found.set("topK", number(request.top_k), "top_k");
  found.set("stop", readStop(request.stop), "stop");
  found.set("choices", number(request.n), "n");
  found.set("seed", number(request.seed), "seed");
  found.set("frequencyPenalty", number(request.frequency_penalty), "frequency_penalty");
  found.set("presencePenalty", number(request.presence_penalty), "presence_penalty");
  if (logprobs === true) found.set("logprobs", { top: number(top) ?? 0 }, "logprobs");
  found.set("logitBias", readLogitBias(request.logit_bias), "logit_bias");
  found.set("format", readFormat(request.response_format, unsupported), "response_format");
  found.set("reasoning", readReasoning(request), "reasoning_effort", "reasoning");
  found.set("verbosity", asString(request.verbosity), "verbosity");
  found.set("user", user, "safety_identifier", "user");
  found.set("serviceTier", asString(request.service_tier), "service_tier");
  found.set("promptCacheKey", asString(request.prompt_cache_key), "prompt_cache_key");
  if (isRecord(metadata)) found.set("metadata", metadata as Record<string, string>, "metadata");
  return found;
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
  const name = asString(value.name);
  if (name === undefined) throw invalidValue(`${path}.name`, "expected a name");
  return {
    type: "function",
    name,
    ...defined({
      description: asString(value.description),
      parameters: isRecord(value.parameters) ? value.parameters : undefined,
      strict: flag(value.strict),
    }),
    ...readCacheMark(value, path, false),
    path,
  };
}

function readCustom(tool: JsonRecord, path: string): Tool {
  const custom = asRecord(tool.custom);
  const name = asString(custom.name);
  if (name === undefined) throw invalidValue(`${path}.custom.name`, "expected a name");
  return {
    type: "custom",
    name,
    ...defined({ description: asString(custom.description), format: custom.format ?? undefined }),
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

function readLogitBias(bias: unknown): CanonicalRequest["logitBias"] {
  if (!isRecord(bias) || Object.keys(bias).length === 0) return undefined;
  return bias as Readonly<Record<string, number>>;
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
  const named = format.json_schema;
  if (!isRecord(named)) throw invalidValue("response_format.json_schema", "expected an object");
  const name = asString(named.name);
  if (name === undefined) throw invalidValue("response_format.json_schema.name", "expected a name");
  return {
    type: "json-schema",
    name,
    schema: asRecord(named.schema),
    ...defined({ description: asString(named.description), strict: flag(named.strict) }),
  };
}

/** `reasoning_effort`, or the aggregator's `reasoning` object. */
function readReasoning(request: JsonRecord): Reasoning | undefined {
  const extended = asRecord(request.reasoning);
  const effort = oneOf(
    asString(request.reasoning_effort) ?? asString(extended.effort),
    effortLevels,
    "reasoning_effort",
  );
  const budgetTokens = number(extended.max_tokens);
  if (effort === undefined && budgetTokens === undefined) return undefined;
  // Chat clients ignore reasoning text or show it, so it is always requested.
  return { ...defined({ effort, budgetTokens }), show: extended.exclude !== true };
}

function number(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function flag(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}
