import {
  cutStringPrefix,
  type Edit,
  locateInSteps,
  splice,
  topLevelMembersSteps,
} from "../../../base/json_text.ts";
import { finish, type Steps } from "../../../base/steps.ts";
import { Fault } from "../../../shared/fault.ts";
import { mergeTags, type PromptTags, readTags } from "../../../shared/prompt_tags.ts";
import type { RequestChanges, RequestFacts } from "../../kernel/dialect.ts";
import { asString, isRecord, type JsonRecord } from "../../kernel/json.ts";

/** What the gateway must know of a messages request; `body` has passed the contract. */
export function readRequest(body: unknown): RequestFacts {
  const request = body as JsonRecord;
  const metadata = isRecord(request.metadata) ? request.metadata : {};
  return {
    model: String(request.model),
    stream: request.stream === true,
    wantsStreamUsage: true,
    endUser: asString(metadata.user_id),
    maxOutputTokens: typeof request.max_tokens === "number" ? request.max_tokens : undefined,
    choices: 1,
    serviceTier: asString(request.speed) ?? asString(request.service_tier),
    ...readTagBlocks(request),
  };
}

/** The request's text for a vendor of this dialect: model and tag lines exchanged. */
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
  // Of two members of one name we and the vendor might each believe another.
  const members = yield* topLevelMembersSteps(bodyText);
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
  for (const { path, units } of facts.tagBlocks) {
    const range = members && (yield* locateInSteps(bodyText, members, path));
    if (range) edits.push(cutStringPrefix(bodyText, range, units));
  }
  return edits.length === 0 ? bodyText : splice(bodyText, edits);
}

interface FoundText {
  text: string;
  path: (string | number)[];
}

/** Tag lines of the first system text and of the first user text (translation.md §15). */
function readTagBlocks(request: JsonRecord): Pick<RequestFacts, "tags" | "tagBlocks"> {
  const tagBlocks: RequestFacts["tagBlocks"] = [];
  let tags: PromptTags = {};
  const system = firstText(request.system, ["system"]) ?? firstOf("system", request.messages);
  for (const found of [system, firstOf("user", request.messages)]) {
    if (!found) continue;
    const path = formatPath(found.path);
    const block = readTags(found.text, path);
    if (block.length === 0) continue;
    if (block.length === found.text.length) {
      throw new Fault("invalid_value", {
        param: path,
        message: `${path}: the prompt contains only tag lines.`,
      });
    }
    tags = mergeTags(tags, block.tags);
    tagBlocks.push({ path: found.path, units: block.length });
  }
  return { tags, tagBlocks };
}

/** The first text of the first message of that role which has one. */
function firstOf(role: "system" | "user", messages: unknown): FoundText | undefined {
  if (!Array.isArray(messages)) return undefined;
  for (const [index, message] of messages.entries()) {
    if (!isRecord(message) || message.role !== role) continue;
    const found = firstText(message.content, ["messages", index, "content"]);
    if (found) return found;
  }
  return undefined;
}

function firstText(content: unknown, path: (string | number)[]): FoundText | undefined {
  if (typeof content === "string") return { text: content, path };
  if (!Array.isArray(content)) return undefined;
  for (const [index, block] of content.entries()) {
    if (isRecord(block) && block.type === "text" && typeof block.text === "string") {
      return { text: block.text, path: [...path, index, "text"] };
    }
  }
  return undefined;
}

/** `["messages", 0, "content"]` as `messages[0].content`. */
function formatPath(path: readonly (string | number)[]): string {
  return path.map((step, index) =>
    typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`
  ).join("");
}
