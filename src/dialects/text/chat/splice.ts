import {
  changeMembersSteps,
  type Edit,
  insertMember,
  locateIn,
  type Members,
  splice,
  wholeRange,
} from "../../../base/json_text.ts";
import { greatest, pushAll } from "../../../base/lists.ts";
import type { FallbackField, RequestFacts } from "../../kernel/dialect.ts";
import { invalidValue } from "../../../shared/fault.ts";
import { asRecord, asString, isRecord, type JsonRecord, recordsIn } from "../../kernel/json.ts";
import { readSafetyUser } from "../../kernel/safety_user.ts";
import { splicer, storeEdits } from "../../kernel/splice_request.ts";
import { firstTextIn, type LocatedText, readTagBlocks } from "../../kernel/tag_blocks.ts";
import type { ToolDemand } from "../../kernel/tool_demand.ts";

/** Returns what the gateway must know about a chat request; `body` has passed the contract. */
export function readRequest(body: unknown): RequestFacts {
  const request = body as JsonRecord;
  const options = asRecord(request.stream_options);
  const choices = typeof request.n === "number" ? request.n : 1;
  const bounds = [request.max_completion_tokens, request.max_tokens].filter((one) =>
    typeof one === "number"
  );
  return {
    model: String(request.model),
    stream: request.stream === true,
    // OpenRouter's clients ask for it with `usage`.
    wantsStreamUsage: options.include_usage === true || asRecord(request.usage).include === true,
    ...readSafetyUser(request),
    maxOutputTokens: bounds.length > 0 ? greatest(bounds) * choices : undefined,
    ...(hasOlderLimit(request) ? { limitRename: "max_tokens=max_completion_tokens" } : {}),
    choices,
    serviceTier: asString(request.service_tier),
    ...readTagBlocks([
      firstOf(request.messages, "system", "developer"),
      firstOf(request.messages, "user"),
    ]),
  };
}

/** Whether only the older name is set. If both are, the vendor may refuse the request. */
function hasOlderLimit(request: JsonRecord): boolean {
  return "max_tokens" in request && !("max_completion_tokens" in request);
}

/**
 * Returns the request's text for a chat-style vendor, with model, usage flag, tag lines and output
 * limit changed.
 */
export const spliceRequest = splicer({
  *edits(bodyText, members, changes) {
    const edits = yield* storeEdits(bodyText, members, changes);
    if (changes.newerTokenLimit) pushAll(edits, limitEdits(bodyText, members));
    if (changes.askStreamUsage) edits.push(askForUsage(bodyText, members));
    return edits;
  },
});

/** Renames the output limit, which means the same under both names, unless both are there. */
function limitEdits(bodyText: string, { members }: Members): Edit[] {
  const limit = members.get("max_tokens");
  if (!limit || members.has("max_completion_tokens")) return [];
  const { keyStart, valueStart, valueEnd } = limit;
  const text = `"max_completion_tokens":${bodyText.slice(valueStart, valueEnd)}`;
  return [{ start: keyStart, end: valueEnd, text }];
}

/** Usage is always requested: billing needs it. */
function askForUsage(bodyText: string, members: Members): Edit {
  const flag = locateIn(bodyText, members, ["stream_options", "include_usage"]);
  if (flag) return { ...flag, text: "true" };
  const options = locateIn(bodyText, members, ["stream_options"]);
  if (!options) {
    // A request has at least a model.
    const at = greatest([...members.members.values()].map(({ valueEnd }) => valueEnd));
    return { start: at, end: at, text: ',"stream_options":{"include_usage":true}' };
  }
  const isObject = bodyText[options.start] === "{";
  return isObject
    ? insertMember(bodyText, options, "include_usage", "true")
    : { ...options, text: '{"include_usage":true}' };
}

/** The field `models`, as an aggregator defines it. */
export const fallbackField: FallbackField = {
  name: "models",
  read(body) {
    const { models } = body as JsonRecord;
    if (models === undefined) return undefined;
    if (models === null) return [];
    if (!Array.isArray(models)) throw invalidValue("models", "expected an array of model names");
    if (models.length > maxModels) throw invalidValue("models", `at most ${maxModels} models`);
    return models.map((name, index) => {
      if (typeof name === "string" && name !== "") return name;
      throw invalidValue(`models[${index}]`, "expected the name of a model");
    });
  },
  *without(body, bodyText) {
    const { models: _, ...rest } = body as JsonRecord;
    const whole = wholeRange(bodyText);
    const edits = yield* changeMembersSteps(bodyText, whole, { remove: ["models"] });
    return { body: rest, bodyText: splice(bodyText, edits) };
  },
};

/** Maximum number of fallbacks that a call may name. */
const maxModels = 10;

/** Returns the first text in a message with one of these roles. */
function firstOf(messages: unknown, ...roles: readonly string[]): LocatedText | undefined {
  return firstTextIn(messages, ["messages"], ({ role }) => roles.includes(String(role)));
}

export function readToolDemand(body: unknown): ToolDemand {
  const { tools, functions, reasoning_effort: plain, reasoning }: JsonRecord = asRecord(body);
  const extended = asRecord(reasoning);
  const effort = plain ?? extended.effort;
  const hasAny = [tools, functions].some((list) => Array.isArray(list) && list.length > 0);
  if (!hasAny) return "none";
  // A budget of tokens becomes an effort.
  const hasBudget = typeof extended.max_tokens === "number";
  if (typeof effort !== "string") return hasBudget ? "tools_with_reasoning" : "tools";
  return effort === "none" ? "tools_alone" : "tools_with_reasoning";
}

/**
 * Whether a request has OpenAI's custom tools, or fields that OpenRouter and Anthropic added; in any
 * other form they are mistakes, and the vendor says so.
 */
export function extensionsIn(body: unknown): readonly ("tools" | "fields")[] {
  const { reasoning, usage, provider, plugins, transforms, route } = asRecord(body);
  const hasFields = [reasoning, usage, provider].some(isRecord) ||
    [plugins, transforms].some(Array.isArray) || typeof route === "string" ||
    hasCacheControl(body);
  return [
    ...hasCustomTools(body) ? ["tools" as const] : [],
    ...hasFields ? ["fields" as const] : [],
  ];
}

/** Whether a request has `cache_control`: its own, or on a tool, message, part or tool call. */
function hasCacheControl(body: unknown): boolean {
  const isMarked = (record: JsonRecord) => isRecord(record.cache_control);
  const { tools, messages } = asRecord(body);
  return [asRecord(body), ...recordsIn(tools)].some(isMarked) ||
    recordsIn(messages).some((message) =>
      isMarked(message) || recordsIn(message.content).some(isMarked) ||
      recordsIn(message.tool_calls).some(isMarked)
    );
}

/** Whether a request offers OpenAI's custom tools, or has calls of them. */
function hasCustomTools(body: unknown): boolean {
  const { tools, messages } = asRecord(body);
  const isCustom = ({ type }: JsonRecord) => type === "custom";
  return recordsIn(tools).some(isCustom) ||
    recordsIn(messages).some(({ tool_calls: calls }) => recordsIn(calls).some(isCustom));
}
