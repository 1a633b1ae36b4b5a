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
import { isRecord, type JsonRecord } from "../../kernel/json.ts";
import { bareModel } from "./models.ts";
import { camelCase, Fields } from "./request/fields.ts";

/**
 * What the gateway must know of a generate request. In this dialect model and streaming stand in
 * the path: the route hands in the JSON body with the members `model` (from the path) and `stream`
 * (whether the path ends in `:streamGenerateContent`) added, `{...body, model, stream}`.
 */
export function readRequest(body: unknown): RequestFacts {
  const fields = new Fields(body as JsonRecord, "");
  const config = fields.object("generationConfig");
  const choices = Math.max(1, config?.number("candidateCount") ?? 1);
  const bound = config?.number("maxOutputTokens");
  return {
    model: bareModel(String(fields.record.model)),
    stream: fields.record.stream === true,
    wantsStreamUsage: true,
    endUser: undefined,
    maxOutputTokens: bound === undefined ? undefined : bound * choices,
    choices,
    serviceTier: fields.string("serviceTier")?.toLowerCase(),
    ...readTagBlocks(fields),
  };
}

/**
 * The request's text for a vendor of this dialect: tag lines cut. A `model` member is exchanged
 * where the text has one; `model` and `stream` that the route added are not in it.
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
  refuseTwice([...members?.members.values() ?? []].map(({ key }) => key), members?.duplicates[0]);
  const edits: Edit[] = [];
  const model = members && (yield* locateInSteps(bodyText, members, ["model"]));
  if (model) edits.push({ ...model, text: JSON.stringify(`models/${bareModel(changes.model)}`) });
  const store = members && (yield* locateInSteps(bodyText, members, ["store"]));
  if (changes.keepNothing && store && bodyText.slice(store.start, store.end) === "true") {
    edits.push({ ...store, text: "false" });
  }
  for (const { path, units } of facts.tagBlocks) {
    const range = members && (yield* locateInSteps(bodyText, members, path));
    if (range) edits.push(cutStringPrefix(bodyText, range, units));
  }
  return edits.length === 0 ? bodyText : splice(bodyText, edits);
}

/** Of two members of one name, in either spelling, we and the vendor might each believe another. */
function refuseTwice(keys: readonly string[], duplicate: string | undefined): void {
  const seen = new Set<string>();
  let twice = duplicate;
  for (const key of keys) {
    if (seen.has(camelCase(key))) twice ??= key;
    seen.add(camelCase(key));
  }
  if (twice === undefined) return;
  throw new Fault("invalid_value", {
    param: twice,
    message: `${twice}: duplicate field.`,
  });
}

type Path = readonly (string | number)[];

/** Tag lines of the system text and of the first user text (translation.md §15). */
function readTagBlocks(fields: Fields): Pick<RequestFacts, "tags" | "tagBlocks"> {
  const tagBlocks: RequestFacts["tagBlocks"] = [];
  let tags: PromptTags = {};
  for (const found of [systemText(fields), userText(fields)]) {
    if (!found) continue;
    const param = formatPath(found.path);
    const block = readTags(found.text, param);
    if (block.length === 0) continue;
    if (block.length === found.text.length) {
      throw new Fault("invalid_value", {
        param,
        message: `${param}: the prompt contains only tag lines.`,
      });
    }
    tags = mergeTags(tags, block.tags);
    tagBlocks.push({ path: found.path, units: block.length });
  }
  return { tags, tagBlocks };
}

function systemText(fields: Fields): { text: string; path: Path } | undefined {
  const key = fields.key("systemInstruction");
  const system = fields.record[key];
  return typeof system === "string" ? { text: system, path: [key] } : firstText(system, [key]);
}

function userText(fields: Fields): { text: string; path: Path } | undefined {
  const contents = Array.isArray(fields.record.contents) ? fields.record.contents : [];
  const index = contents.findIndex((content: unknown) =>
    isRecord(content) && (content.role === "user" || content.role === undefined)
  );
  return firstText(contents[index], ["contents", index]);
}

function firstText(content: unknown, path: Path): { text: string; path: Path } | undefined {
  if (!isRecord(content) || !Array.isArray(content.parts)) return undefined;
  const index = content.parts.findIndex((part: unknown) =>
    isRecord(part) && typeof part.text === "string"
  );
  const part: unknown = content.parts[index];
  if (!isRecord(part) || typeof part.text !== "string") return undefined;
  return { text: part.text, path: [...path, "parts", index, "text"] };
}

function formatPath(path: Path): string {
  return path.map((step, index) =>
    typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`
  ).join("");
}
