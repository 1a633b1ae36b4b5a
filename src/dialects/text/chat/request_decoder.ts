import { atOnce, type Steps } from "../../../base/steps.ts";
import type {
  CanonicalRequest,
  OutputFormat,
  Reasoning,
  RequestSettings,
  SettingName,
  Tool,
  ToolChoice,
  UnsupportedField,
} from "../../kernel/canonical_request.ts";
import { invalidValue } from "../../../shared/fault.ts";
import { oneOf } from "../../kernel/fields.ts";
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
export const decodeRequest = atOnce(decodeRequestSteps);

export function* decodeRequestSteps(body: unknown): Steps<CanonicalRequest> {
  const request = body as JsonRecord;
  const unsupported = [
    ...unsupportedFields(request),
    ...(yield* otherFields(request, knownFields)),
  ];
  const { system, turns } = yield* readMessages(
    request.messages as readonly unknown[],
    unsupported,
  );
  const settings = readSettings(request, unsupported);
  return {
    model: String(request.model),
    stream: request.stream === true,
    system,
    turns,
    tools: readTools(request),
    unsupported,
    ...settings,
    paths: pathsOf(request, settings),
  };
}

function readSettings(request: JsonRecord, unsupported: UnsupportedField[]): RequestSettings {
  const maxOutputTokens = number(request.max_completion_tokens) ?? number(request.max_tokens);
  return defined({
    toolChoice: readToolChoice(request),
    webSearch: readSearch(request),
    parallelToolCalls: flag(request.parallel_tool_calls),
    maxOutputTokens,
    temperature: number(request.temperature),
    topP: number(request.top_p),
    topK: number(request.top_k),
    stop: readStop(request.stop),
    choices: number(request.n),
    seed: number(request.seed),
    frequencyPenalty: number(request.frequency_penalty),
    presencePenalty: number(request.presence_penalty),
    logprobs: request.logprobs === true ? { top: number(request.top_logprobs) ?? 0 } : undefined,
    logitBias: readLogitBias(request.logit_bias),
    format: readFormat(request.response_format, unsupported),
    reasoning: readReasoning(request),
    verbosity: asString(request.verbosity),
    user: asString(request.safety_identifier) ?? asString(request.user),
    serviceTier: asString(request.service_tier),
    promptCacheKey: asString(request.prompt_cache_key),
    metadata: isRecord(request.metadata)
      ? request.metadata as Readonly<Record<string, string>>
      : undefined,
  });
}

const fieldNames: Readonly<Record<SettingName, readonly string[]>> = {
  toolChoice: ["tool_choice", "function_call"],
  parallelToolCalls: ["parallel_tool_calls"],
  maxOutputTokens: ["max_completion_tokens", "max_tokens"],
  temperature: ["temperature"],
  topP: ["top_p"],
  topK: ["top_k"],
  stop: ["stop"],
  choices: ["n"],
  seed: ["seed"],
  frequencyPenalty: ["frequency_penalty"],
  presencePenalty: ["presence_penalty"],
  logprobs: ["logprobs"],
  logitBias: ["logit_bias"],
  format: ["response_format"],
  reasoning: ["reasoning_effort", "reasoning"],
  verbosity: ["verbosity"],
  user: ["safety_identifier", "user"],
  serviceTier: ["service_tier"],
  metadata: ["metadata"],
  promptCacheKey: ["prompt_cache_key"],
};

function pathsOf(request: JsonRecord, settings: RequestSettings): CanonicalRequest["paths"] {
  const paths: Partial<Record<SettingName, string>> = {};
  for (const [name, fields] of Object.entries(fieldNames) as [SettingName, string[]][]) {
    if (!(name in settings)) continue;
    const field = fields.find((one) => request[one] !== undefined && request[one] !== null);
    if (field !== undefined) paths[name] = field;
  }
  return paths;
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
