import {
  type Edit,
  insertMember,
  locateIn,
  type Members,
  removeMember,
  splice,
  topLevelMembers,
} from "../../../base/json_text.ts";
import { greatest, pushAll } from "../../../base/lists.ts";
import type { FallbackField, RequestFacts } from "../../kernel/dialect.ts";
import { invalidValue } from "../../../shared/fault.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { readSafetyUser } from "../../kernel/safety_user.ts";
import { splicer, storeEdits } from "../../kernel/splice_request.ts";
import { type LocatedText, readTagBlocks } from "../../kernel/tag_blocks.ts";
import type { ToolDemand } from "../../kernel/tool_demand.ts";

/** What the gateway must know of a chat request; `body` has passed the contract. */
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
    wantsStreamUsage: options.include_usage === true,
    ...readSafetyUser(request),
    maxOutputTokens: bounds.length > 0 ? greatest(bounds) * choices : undefined,
    ...(hasOlderLimit(request) ? { limitRename: "max_tokens=max_completion_tokens" } : {}),
    choices,
    serviceTier: asString(request.service_tier),
    ...readTagBlocks(taggedTexts(request.messages as readonly unknown[])),
  };
}

/** Both names at once are the vendor's to refuse. */
function hasOlderLimit(request: JsonRecord): boolean {
  return "max_tokens" in request && !("max_completion_tokens" in request);
}

/** The request's text for a chat-style vendor: model, usage flag, tags and limit exchanged. */
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

/** `models`, as an aggregator has it. */
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
  without(body, bodyText) {
    const { models: _, ...rest } = body as JsonRecord;
    const members = topLevelMembers(bodyText);
    if (!members) return { body: rest, bodyText };
    const edits = removeMember(bodyText, members.range, "models");
    return { body: rest, bodyText: splice(bodyText, edits) };
  },
};

/** So many fallbacks a call may name. */
const maxModels = 10;

/** The first system or developer text and the first user text, in their order. */
function taggedTexts(messages: readonly unknown[]): LocatedText[] {
  const seen = new Set<"system" | "user">();
  return messages.flatMap((message, index) => {
    if (!isRecord(message)) return [];
    const role = message.role === "developer" ? "system" : message.role;
    if ((role !== "system" && role !== "user") || seen.has(role)) return [];
    seen.add(role);
    return firstText(message.content, index) ?? [];
  });
}

function firstText(content: unknown, message: number): LocatedText | undefined {
  if (typeof content === "string") return { text: content, path: ["messages", message, "content"] };
  if (!Array.isArray(content)) return undefined;
  const index = content.findIndex((part) => isRecord(part) && part.type === "text");
  const part: unknown = content[index];
  if (!isRecord(part) || typeof part.text !== "string") return undefined;
  return { text: part.text, path: ["messages", message, "content", index, "text"] };
}

export function readToolDemand(body: unknown): ToolDemand {
  const { tools, functions, reasoning_effort: effort }: Record<string, unknown> = asRecord(body);
  const hasAny = [tools, functions].some((list) => Array.isArray(list) && list.length > 0);
  if (!hasAny) return "none";
  if (typeof effort !== "string") return "tools";
  return effort === "none" ? "tools_alone" : "tools_with_reasoning";
}
