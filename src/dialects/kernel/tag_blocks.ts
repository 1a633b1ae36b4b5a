import {
  cutStringPrefix,
  type Edit,
  itemsAt,
  locateSteps,
  removeItems,
  splice,
  type TextRange,
} from "../../base/json_text.ts";
import { pushAll } from "../../base/lists.ts";
import type { Steps } from "../../base/steps.ts";
import { invalidValue } from "../../shared/fault.ts";
import { mergeTags, type PromptTags, readPromptTags, readTags } from "../../shared/prompt_tags.ts";
import type { RequestFacts } from "./dialect.ts";
import { formatPath } from "./fields.ts";
import { isRecord, type JsonRecord } from "./json.ts";

export interface LocatedText {
  readonly text: string;
  readonly path: readonly (string | number)[];
  /** It is a part beside others. */
  readonly hasOthers?: boolean;
  /** The next text among those parts. */
  readonly next?: string | undefined;
}

type TagBlock = RequestFacts["tagBlocks"][number];

/**
 * Returns the first text of a message's content: the content itself if it is a text, or the text of
 * its first part that has one.
 */
export function firstText(content: unknown, path: LocatedText["path"]): LocatedText | undefined {
  if (typeof content === "string") return { text: content, path };
  let first: LocatedText | undefined;
  for (const { value: { text }, at } of placesIn(content, path)) {
    if (typeof text !== "string") continue;
    if (first) return { ...first, next: text };
    const hasOthers = Array.isArray(content) && content.length > 1;
    first = { text, path: [...at, "text"], hasOthers };
  }
  return first;
}

/** Returns the first text of the first message that fits and has one. */
export function firstTextIn(
  messages: unknown,
  path: LocatedText["path"],
  fits: (message: JsonRecord) => boolean,
  contentName = "content",
): LocatedText | undefined {
  for (const { value, at } of placesIn(messages, path)) {
    const found = fits(value) && firstText(value[contentName], [...at, contentName]);
    if (found) return found;
  }
  return undefined;
}

/** The objects in a list. The generate dialect takes a single one in place of a list. */
function* placesIn(
  list: unknown,
  path: LocatedText["path"],
): Generator<{ value: JsonRecord; at: LocatedText["path"] }> {
  if (isRecord(list)) yield { value: list, at: path };
  if (!Array.isArray(list)) return;
  for (const [index, value] of list.entries()) {
    if (isRecord(value)) yield { value, at: [...path, index] };
  }
}

/**
 * Reads the tag lines at the start of these texts; the first value of a tag wins. A part that has
 * nothing else is removed if there are others: some vendors refuse an empty text. Throws
 * `invalid_value` if the next text begins with tag lines, too: they would reach the vendor.
 */
export function readTagBlocks(
  texts: readonly (LocatedText | undefined)[],
): Pick<RequestFacts, "tags" | "tagBlocks"> {
  const tagBlocks: RequestFacts["tagBlocks"] = [];
  let tags: PromptTags = {};
  for (const { text, path, hasOthers, next = "" } of texts.filter((one) => one !== undefined)) {
    const block = (hasOthers ? readTags : readPromptTags)(text, formatPath(path));
    if (block.length === 0) continue;
    tags = mergeTags(tags, block.tags);
    const isPart = block.length === text.length;
    if (isPart && readTags(next).length > 0) {
      throw invalidValue(formatPath(path), "expected all tag lines in one text");
    }
    tagBlocks.push({ path, units: block.length, ...(isPart ? { isPart } : {}) });
  }
  return { tags, tagBlocks };
}

export function withoutTags(body: unknown, blocks: RequestFacts["tagBlocks"]): unknown {
  return blocks.reduce((cut, block) => cutAt(cut, block.path, block), body);
}

/** `withoutTags` for a body's text; the rest stays byte for byte. */
export function* textWithoutTags(
  bodyText: string,
  blocks: RequestFacts["tagBlocks"],
): Steps<string> {
  const edits: Edit[] = [];
  for (const block of blocks) {
    const range = yield* locateSteps(bodyText, changedPath(block));
    if (range) pushAll(edits, yield* tagEdits(bodyText, range, block));
  }
  return splice(bodyText, edits);
}

/** The path of the value that changes if a block is cut. */
export function changedPath({ path, isPart }: TagBlock): TagBlock["path"] {
  return isPart ? path.slice(0, -2) : path;
}

/** Returns the edits that cut a block from a body's text; `range` is that of `changedPath`. */
export function* tagEdits(
  bodyText: string,
  range: TextRange,
  { path, units, isPart }: TagBlock,
): Steps<Edit[]> {
  if (!isPart) return [cutStringPrefix(bodyText, range, units)];
  const parts = yield* itemsAt(bodyText, range);
  return yield* removeItems(parts, (index) => index === path.at(-2));
}

function cutAt(value: unknown, path: TagBlock["path"], block: TagBlock): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return typeof value === "string" ? value.slice(block.units) : value;
  if (Array.isArray(value)) {
    if (block.isPart && rest.length === 1) return value.filter((_, index) => index !== step);
    return value.map((one, index) => index === step ? cutAt(one, rest, block) : one);
  }
  const record = value as JsonRecord;
  return { ...record, [step]: cutAt(record[step], rest, block) };
}
