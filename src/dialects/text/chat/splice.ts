import { greatest } from "../../../base/lists.ts";
import { finish, type Steps } from "../../../base/steps.ts";
import {
  cutStringPrefix,
  type Edit,
  insertMember,
  locateIn,
  locateInSteps,
  type Members,
  splice,
  topLevelMembersSteps,
} from "../../../base/json_text.ts";
import { Fault } from "../../../shared/fault.ts";
import { mergeTags, type PromptTags, readTags } from "../../../shared/prompt_tags.ts";
import type { RequestChanges, RequestFacts } from "../../kernel/dialect.ts";
import { asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import type { ToolDemand } from "../../kernel/tool_demand.ts";

/** What the gateway must know of a chat request; `body` has passed the contract. */
export function readRequest(body: unknown): RequestFacts {
  const request = body as JsonRecord;
  const options = isRecord(request.stream_options) ? request.stream_options : {};
  const choices = typeof request.n === "number" ? request.n : 1;
  const bounds = [request.max_completion_tokens, request.max_tokens].filter((one) =>
    typeof one === "number"
  );
  return {
    model: String(request.model),
    stream: request.stream === true,
    wantsStreamUsage: options.include_usage === true,
    endUser: asString(request.safety_identifier) ?? asString(request.user),
    maxOutputTokens: bounds.length > 0 ? greatest(bounds) * choices : undefined,
    choices,
    serviceTier: asString(request.service_tier),
    ...readTagBlocks(request.messages as readonly unknown[]),
  };
}

/** The request's text for a chat-style vendor: model, usage flag and tag lines exchanged. */
export function spliceRequest(
  bodyText: string,
  facts: RequestFacts,
  changes: RequestChanges,
): string {
  return finish(spliceRequestSteps(bodyText, facts, changes));
}

/** The same in steps. */
export function* spliceRequestSteps(
  bodyText: string,
  facts: RequestFacts,
  changes: RequestChanges,
): Steps<string> {
  const members = yield* topLevelMembersSteps(bodyText);
  // Of two members of one name we and the vendor might each believe another.
  const twice = members?.duplicates[0];
  if (twice !== undefined) {
    throw new Fault("invalid_value", {
      param: twice,
      message: `${twice}: duplicate field.`,
    });
  }
  const edits: Edit[] = [];
  const model = members && (yield* locateInSteps(bodyText, members, ["model"]));
  if (model && changes.model !== facts.model) {
    edits.push({ ...model, text: JSON.stringify(changes.model) });
  }
  const store = members && (yield* locateInSteps(bodyText, members, ["store"]));
  if (changes.keepNothing && store && bodyText.slice(store.start, store.end) === "true") {
    edits.push({ ...store, text: "false" });
  }
  if (changes.askStreamUsage && members) edits.push(askForUsage(bodyText, members));
  for (const { path, units } of facts.tagBlocks) {
    const range = members && (yield* locateInSteps(bodyText, members, path));
    if (range) edits.push(cutStringPrefix(bodyText, range, units));
  }
  return edits.length === 0 ? bodyText : splice(bodyText, edits);
}

/** Usage is always asked for: billing needs it (chat-completions.md §4.4). */
function askForUsage(bodyText: string, members: Members): Edit {
  const flag = locateIn(bodyText, members, ["stream_options", "include_usage"]);
  if (flag) return { ...flag, text: "true" };
  const options = locateIn(bodyText, members, ["stream_options"]);
  if (!options) {
    // The request has a model at least.
    const at = greatest([...members.members.values()].map(({ valueEnd }) => valueEnd));
    return { start: at, end: at, text: ',"stream_options":{"include_usage":true}' };
  }
  const isObject = bodyText[options.start] === "{";
  return isObject
    ? insertMember(bodyText, options, "include_usage", "true")
    : { ...options, text: '{"include_usage":true}' };
}

/**
 * Tag lines of the first system or developer text and of the first user text
 * (translation.md §15); the first value of each tag wins.
 */
function readTagBlocks(
  messages: readonly unknown[],
): Pick<RequestFacts, "tags" | "tagBlocks"> {
  const seen = new Set<"system" | "user">();
  const tagBlocks: RequestFacts["tagBlocks"] = [];
  let tags: PromptTags = {};
  for (const [index, message] of messages.entries()) {
    if (!isRecord(message)) continue;
    const role = message.role === "developer" ? "system" : message.role;
    if ((role !== "system" && role !== "user") || seen.has(role)) continue;
    seen.add(role);
    const found = firstText(message.content, index);
    if (!found) continue;
    const block = readTags(found.text, formatPath(found.path));
    if (block.length === 0) continue;
    if (block.length === found.text.length) {
      throw new Fault("invalid_value", {
        param: formatPath(found.path),
        message: `${formatPath(found.path)}: the prompt contains only tag lines.`,
      });
    }
    tags = mergeTags(tags, block.tags);
    tagBlocks.push({ path: found.path, units: block.length });
  }
  return { tags, tagBlocks };
}

function firstText(
  content: unknown,
  message: number,
): { text: string; path: (string | number)[] } | undefined {
  if (typeof content === "string") return { text: content, path: ["messages", message, "content"] };
  if (!Array.isArray(content)) return undefined;
  const index = content.findIndex((part) => isRecord(part) && part.type === "text");
  const part: unknown = content[index];
  if (!isRecord(part) || typeof part.text !== "string") return undefined;
  return { text: part.text, path: ["messages", message, "content", index, "text"] };
}

/** `["messages", 0, "content"]` as `messages[0].content`. */
function formatPath(path: readonly (string | number)[]): string {
  return path.map((step, index) =>
    typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`
  ).join("");
}

/** What a request asks of a chat endpoint, read where it isn't translated. */
export function readToolDemand(body: unknown): ToolDemand {
  const { tools, functions, reasoning_effort: effort }: Record<string, unknown> = isRecord(body)
    ? body
    : {};
  const hasAny = [tools, functions].some((list) => Array.isArray(list) && list.length > 0);
  if (!hasAny) return "none";
  if (typeof effort !== "string") return "tools";
  return effort === "none" ? "tools_alone" : "tools_with_reasoning";
}
