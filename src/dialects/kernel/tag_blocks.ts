import { mergeTags, type PromptTags, readTags } from "../../shared/prompt_tags.ts";
import type { RequestFacts } from "./dialect.ts";
import { invalidValue } from "../../shared/fault.ts";
import { formatPath } from "./fields.ts";
import { type JsonRecord } from "./json.ts";

export interface LocatedText {
  readonly text: string;
  readonly path: readonly (string | number)[];
}

/** Reads the tag lines at the start of these texts; the first value of a tag wins. */
export function readTagBlocks(
  texts: readonly (LocatedText | undefined)[],
): Pick<RequestFacts, "tags" | "tagBlocks"> {
  const tagBlocks: RequestFacts["tagBlocks"] = [];
  let tags: PromptTags = {};
  for (const { text, path } of texts.filter((one) => one !== undefined)) {
    const param = formatPath(path);
    const block = readTags(text, param);
    if (block.length === 0) continue;
    if (block.length === text.length) {
      throw invalidValue(param, "the prompt contains only tag lines");
    }
    tags = mergeTags(tags, block.tags);
    tagBlocks.push({ path, units: block.length });
  }
  return { tags, tagBlocks };
}

export function withoutTags(body: unknown, blocks: RequestFacts["tagBlocks"]): unknown {
  return blocks.reduce((cut, { path, units }) => cutAt(cut, path, units), body);
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
