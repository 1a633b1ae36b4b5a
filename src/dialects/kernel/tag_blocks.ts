import { cutStringPrefix, locate, splice } from "../../base/json_text.ts";
import { mergeTags, type PromptTags, readPromptTags } from "../../shared/prompt_tags.ts";
import type { RequestFacts } from "./dialect.ts";
import { formatPath } from "./fields.ts";
import { isRecord, type JsonRecord } from "./json.ts";

export interface LocatedText {
  readonly text: string;
  readonly path: readonly (string | number)[];
}

/**
 * Returns the first text of a message's content: the content itself if it is a text, or the text of
 * its first part that has one.
 */
export function firstText(content: unknown, path: LocatedText["path"]): LocatedText | undefined {
  if (typeof content === "string") return { text: content, path };
  for (const { value, at } of placesIn(content, path)) {
    if (typeof value.text === "string") return { text: value.text, path: [...at, "text"] };
  }
  return undefined;
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

/** Reads the tag lines at the start of these texts; the first value of a tag wins. */
export function readTagBlocks(
  texts: readonly (LocatedText | undefined)[],
): Pick<RequestFacts, "tags" | "tagBlocks"> {
  const tagBlocks: RequestFacts["tagBlocks"] = [];
  let tags: PromptTags = {};
  for (const { text, path } of texts.filter((one) => one !== undefined)) {
    const block = readPromptTags(text, formatPath(path));
    if (block.length === 0) continue;
    tags = mergeTags(tags, block.tags);
    tagBlocks.push({ path, units: block.length });
  }
  return { tags, tagBlocks };
}

export function withoutTags(body: unknown, blocks: RequestFacts["tagBlocks"]): unknown {
  return blocks.reduce((cut, { path, units }) => cutAt(cut, path, units), body);
}

/** `withoutTags` for a body's text; the rest stays byte for byte. */
export function textWithoutTags(bodyText: string, blocks: RequestFacts["tagBlocks"]): string {
  return splice(
    bodyText,
    blocks.flatMap(({ path, units }) => {
      const range = locate(bodyText, path);
      return range ? [cutStringPrefix(bodyText, range, units)] : [];
    }),
  );
}

function cutAt(value: unknown, path: readonly (string | number)[], units: number): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return typeof value === "string" ? value.slice(units) : value;
  if (Array.isArray(value)) {
    return value.map((one, index) => index === step ? cutAt(one, rest, units) : one);
  }
  const record = value as JsonRecord;
  return { ...record, [step]: cutAt(record[step], rest, units) };
}
