import { Fault } from "./fault.ts";

/** What the leading tag lines of a prompt say (spec.md, Prompt metadata tags). */
export interface PromptTags {
  app?: string;
  flow?: string;
  cohort?: string;
}

/** Tag lines of one text. */
export const maxTagLines = 1_000;

/** Longest value of a tag, in UTF-16 units. */
export const maxTagLength = 256;

/**
 * The tag block at the very start of a text: contiguous lines `/// APP <name>`, `/// FLOW <name>`,
 * `/// COHORT <id>`, exactly so written, ended by LF or CRLF (protocols/translation.md §15).
 * `length` is the block's length in UTF-16 units, line ends included: `text.slice(length)` is the
 * prompt. The first value of a tag wins; spaces around a value don't count. Any other line ends the
 * block, `/// APP` without a value included.
 *
 * Throws `Fault("invalid_value")`, naming `param` (the path of the text), for a value longer than
 * 256 or with control characters: cut, it could name another cohort; left in, it would reach the
 * vendor. The same for more lines than anybody has tags: megabytes of them took half a second.
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

/** The first value of each tag, sources in order: system text, then user text. */
export function mergeTags(...sources: readonly PromptTags[]): PromptTags {
  return Object.assign({}, ...sources.toReversed());
}

const tagNames: Readonly<Record<string, keyof PromptTags>> = {
  APP: "app",
  FLOW: "flow",
  COHORT: "cohort",
};

function checked(name: keyof PromptTags, value: string, param: string | undefined): string {
  const problem = problemOf(value);
  if (problem === undefined) return value;
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
