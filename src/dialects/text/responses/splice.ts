import { pushAll } from "../../../base/lists.ts";
import {
  cutStringPrefix,
  type Edit,
  itemsAt,
  locateInSteps,
  splice,
  type TextRange,
  topLevelMembersSteps,
} from "../../../base/json_text.ts";
import { finish, mapInSteps, type Steps } from "../../../base/steps.ts";
import type { RequestChanges, RequestFacts } from "../../kernel/dialect.ts";
import { invalidValue } from "../../kernel/fields.ts";
import { asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { envelopeMark, isEnvelope } from "./conversation/envelope.ts";
import { statelessEdits } from "./conversation/stateless.ts";
import { Fault } from "../../../shared/fault.ts";
import { mergeTags, type PromptTags, readTags } from "../../../shared/prompt_tags.ts";

/**
 * The request's text for a vendor of this dialect: model and tag lines exchanged, and reasoning
 * that we sealed for a vendor of another dialect taken out, which this one would refuse.
 */
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
  if (twice !== undefined) throw invalidValue(twice, "duplicate field");
  const edits: Edit[] = [];
  const model = members && (yield* locateInSteps(bodyText, members, ["model"]));
  if (model && changes.model !== facts.model) {
    edits.push({ ...model, text: JSON.stringify(changes.model) });
  }
  for (const { path, units } of facts.tagBlocks) {
    const range = members && (yield* locateInSteps(bodyText, members, path));
    if (range) edits.push(cutStringPrefix(bodyText, range, units));
  }
  if (members && changes.keepNothing) {
    pushAll(edits, statelessEdits(bodyText, members, changes.keepNothing.sealReasoning));
  }
  const input = members?.members.get("input");
  if (input && bodyText.includes(envelopeMark)) {
    const range = { start: input.valueStart, end: input.valueEnd };
    pushAll(edits, yield* removeSealedItems(bodyText, range));
  }
  return edits.length === 0 ? bodyText : splice(bodyText, edits);
}

function* removeSealedItems(bodyText: string, input: TextRange): Steps<Edit[]> {
  const ranges = yield* itemsAt(bodyText, input);
  const sealed = yield* mapInSteps(ranges, (range) => isSealed(bodyText, range), sealedEach);
  const edits: Edit[] = [];
  for (let from = 0; from < ranges.length; from++) {
    if (!sealed[from]) continue;
    let to = from;
    while (to + 1 < ranges.length && sealed[to + 1]) to++;
    // A run goes with the comma behind it, or, at the end of the list, the comma before it.
    const next = ranges[to + 1];
    const before = ranges[from - 1];
    edits.push({
      start: next || !before ? ranges[from]!.start : before.end,
      end: next ? next.start : ranges[to]!.end,
      text: "",
    });
    from = to;
  }
  return edits;
}

/** Reasoning may be as large as an answer. */
const sealedEach = 8;

/** Only what holds the mark is read. */
function isSealed(bodyText: string, { start, end }: TextRange): boolean {
  const text = bodyText.slice(start, end);
  if (!text.includes(envelopeMark)) return false;
  const item: unknown = JSON.parse(text);
  return isRecord(item) && item.type === "reasoning" &&
    typeof item.encrypted_content === "string" && isEnvelope(item.encrypted_content);
}

type Path = (string | number)[];

/** What the gateway must know of a responses request; `body` has passed the contract. */
export function readRequest(body: unknown): RequestFacts {
  const request = body as JsonRecord;
  return {
    model: String(request.model),
    stream: request.stream === true,
    // Usage always comes with the terminal event: there is nothing to ask for.
    wantsStreamUsage: true,
    endUser: asString(request.safety_identifier) ?? asString(request.user),
    maxOutputTokens: typeof request.max_output_tokens === "number"
      ? request.max_output_tokens
      : undefined,
    choices: 1,
    serviceTier: asString(request.service_tier),
    ...readTagBlocks(request),
  };
}

/**
 * Tag lines of the first system or developer text, which `instructions` is where there are any,
 * and of the first user text (translation.md §15); the first value of each tag wins.
 */
function readTagBlocks(request: JsonRecord): Pick<RequestFacts, "tags" | "tagBlocks"> {
  const tagBlocks: RequestFacts["tagBlocks"] = [];
  let tags: PromptTags = {};
  for (const path of [systemPath(request), userPath(request)]) {
    if (!path) continue;
    const text = textAt(request, path);
    const block = readTags(text, formatPath(path));
    if (block.length === 0) continue;
    if (block.length === text.length) {
      throw new Fault("invalid_value", {
        param: formatPath(path),
        message: `${formatPath(path)}: the prompt contains only tag lines.`,
      });
    }
    tags = mergeTags(tags, block.tags);
    tagBlocks.push({ path, units: block.length });
  }
  return { tags, tagBlocks };
}

function systemPath(request: JsonRecord): Path | undefined {
  if (asString(request.instructions) !== undefined) return ["instructions"];
  return messagePath(request.input, (role) => role === "system" || role === "developer");
}

function userPath(request: JsonRecord): Path | undefined {
  if (typeof request.input === "string") return ["input"];
  return messagePath(request.input, (role) => role === "user");
}

/** Path of the first text of the first message that a role of this kind speaks. */
function messagePath(input: unknown, matchesRole: (role: unknown) => boolean): Path | undefined {
  if (!Array.isArray(input)) return undefined;
  const at = input.findIndex((item) => isRecord(item) && isMessage(item) && matchesRole(item.role));
  const item: unknown = input[at];
  if (!isRecord(item)) return undefined;
  if (typeof item.content === "string") return ["input", at, "content"];
  if (!Array.isArray(item.content)) return undefined;
  const index = item.content.findIndex((part) => isRecord(part) && typeof part.text === "string");
  return index < 0 ? undefined : ["input", at, "content", index, "text"];
}

function isMessage(item: JsonRecord): boolean {
  return item.type === undefined || item.type === null || item.type === "message";
}

function textAt(request: JsonRecord, path: readonly (string | number)[]): string {
  let value: unknown = request;
  for (const step of path) value = (value as Record<string | number, unknown>)[step];
  return value as string;
}

/** `["input", 0, "content"]` as `input[0].content`. */
function formatPath(path: readonly (string | number)[]): string {
  return path.map((step, index) =>
    typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`
  ).join("");
}
