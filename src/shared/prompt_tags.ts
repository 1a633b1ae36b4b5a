import { copyOf } from "../base/own_text.ts";
import { Fault, invalidValue } from "./fault.ts";

/** The tags in the leading lines of a prompt (docs/calling.md). */
export interface PromptTags {
  app?: string;
  flow?: string;
  cohort?: string;
}

export const maxTagLines = 1_000;

/** Longest value of a tag, in UTF-16 units. */
export const maxTagLength = 256;

/**
 * The tag block at the very start of a text: contiguous lines `/// APP <name>`, `/// FLOW <name>`,
 * `/// COHORT <id>`, written exactly like that, with LF or CRLF.
 * `length` is the block's length in UTF-16 units, line ends included: `text.slice(length)` is the
 * prompt. The first value of a tag wins; spaces around a value don't count. Any other line, including
 * `/// APP` without a value, ends the block.
 *
 * Throws `Fault("invalid_value")` with `param` (the path of the text) for a value that is longer than
 * 256 or has control characters: truncated, it could name another cohort; left in, it would reach the
 * vendor. Also for too many lines: megabytes of them took half a second.
 */
export function readTags(text: string, param?: string): { tags: PromptTags; length: number } {
  const tags: PromptTags = {};
  let length = 0;
  for (let lines = 1; text.startsWith("/// ", length); lines++) {
    const end = text.indexOf("\n", length);
    const line = text.slice(length, end === -1 ? text.length : end).replace(/\r$/, "");
    const match = /^\/\/\/ (APP|FLOW|COHORT) (.*)$/s.exec(line);
    const name = tagNames[match?.[1] ?? ""];
    const value = match?.[2]?.trim() ?? "";
    if (name === undefined || value === "") break;
    if (lines > maxTagLines) {
      throw invalidTag(`There are more than ${maxTagLines} prompt tag lines`, param);
    }
    tags[name] ??= checked(name, value, param);
    length = end === -1 ? text.length : end + 1;
  }
  return { tags, length };
}

/** Reads the tags of a prompt. Throws `invalid_value` if nothing follows them. */
export function readPromptTags(text: string, param: string): ReturnType<typeof readTags> {
  const block = readTags(text, param);
  if (block.length > 0 && block.length === text.length) throw onlyTags(param);
  return block;
}

/**
 * Cuts the tags off a prompt that is the request's only text: white space alone after them is no
 * prompt either, and throws `invalid_value` too.
 */
export function cutPromptTags(text: string, param: string): { tags: PromptTags; text: string } {
  const { tags, length } = readTags(text, param);
  const rest = text.slice(length);
  if (length > 0 && rest.trim() === "") throw onlyTags(param);
  return { tags, text: rest };
}

function onlyTags(param: string): Fault {
  return invalidValue(param, "there are only tag lines, and no text after them in this field");
}

/** The first value of each tag, sources in order: system text, then user text. */
export function mergeTags(...sources: readonly PromptTags[]): PromptTags {
  return Object.assign({}, ...sources.toReversed());
}

const tagNames: Readonly<Record<string, keyof PromptTags>> = {
  APP: "app",
  FLOW: "flow",
  COHORT: "cohort",
};

/** Whether a tag can have this value, which must be trimmed already. */
export function isTagValue(value: string): boolean {
  return value !== "" && problemOf(value) === undefined;
}

function checked(name: keyof PromptTags, value: string, param: string | undefined): string {
  const problem = problemOf(value);
  // It outlives the prompt that it stands in, for instance in answers that are remembered.
  if (problem === undefined) return copyOf(value);
  throw invalidTag(`The prompt tag ${name.toUpperCase()} ${problem}`, param);
}

function invalidTag(problem: string, param: string | undefined): Fault {
  const message = `${problem}.`;
  return new Fault(
    "invalid_value",
    param === undefined ? { message } : { message: `${param}: ${message}`, param },
  );
}

function problemOf(value: string): string | undefined {
  if (value.length > maxTagLength) {
    return `has a value of ${value.length} characters; at most ${maxTagLength} are allowed`;
  }
  return /\p{Cc}/u.test(value) || !value.isWellFormed()
    ? "has a value with control characters"
    : undefined;
}
