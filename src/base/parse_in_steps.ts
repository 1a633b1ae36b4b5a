import { parseExactly } from "./exact_json.ts";
import { type JsonCount, type LargeSpans, largeSpanUnits } from "./json_count.ts";
import { skipSpace, skipString } from "./json_text.ts";

/** The text isn't JSON; `position` is the offending UTF-16 unit, if known. */
export class JsonTextError extends Error {
  readonly position: number | undefined;

  constructor(position: number | undefined) {
    super("The text is not valid JSON");
    this.position = position;
  }
}

/**
 * Parses JSON text as `JSON.parse` does, in steps of a few hundred kilobytes. The large containers
 * and strings that `JsonCount` has found are assembled here; the runtime's parser parses the runs of
 * elements between commas, and pieces of strings. Throws `JsonTextError`, and what `glance` throws.
 */
export function* parseInSteps(
  text: string,
  { large, solid: { start, end } }: Pick<JsonCount, "large" | "solid">,
  { stepUnits = largeSpanUnits, glance }: { stepUnits?: number; glance?: Preview | undefined } = {},
): Generator<void, unknown, void> {
  if (large.get(start) !== end) return parsePiece(text, start, end, "", "");
  const whole = { text, large, stepUnits };
  const isObject = text.charCodeAt(start) === openBrace;
  return yield* parseLarge(isObject ? { ...whole, glance } : whole, start, end);
}

/**
 * Called with the first elements of a large list that is a top-level member; it may throw if they
 * are invalid, so that the rest isn't parsed.
 */
export type Preview = (name: string, elements: readonly unknown[]) => void;

interface Parsed {
  readonly text: string;
  readonly large: LargeSpans;
  readonly stepUnits: number;
  /** At the top level only. */
  readonly glance?: Preview | undefined;
  /** The name of a top-level member. */
  readonly name?: string;
}

function parseLarge(parsed: Parsed, start: number, end: number): Generator<void, unknown, void> {
  const isString = parsed.text.charCodeAt(start) === quote;
  return isString ? parseString(parsed, start + 1, end - 1) : parseContainer(parsed, start, end);
}

/**
 * Parses the text between two quotes in pieces, never cutting an escape. What has no escape and is
 * most of the text, such as a picture, is not copied: it refers to the text.
 */
function* parseString(
  { text, stepUnits }: Parsed,
  start: number,
  end: number,
): Generator<void, string, void> {
  const pieces: string[] = [];
  let mayRefer = end - start > text.length / 2;
  for (let from = start; from < end;) {
    const to = afterEscape(text, from, Math.min(end, from + stepUnits));
    if (to > end) throw new JsonTextError(from);
    const piece = parsePiece(text, from, to, '"', '"') as string;
    mayRefer &&= piece.length === to - from;
    pieces.push(mayRefer ? text.slice(from, to) : piece);
    from = to;
    yield;
  }
  return mayRefer ? text.slice(start, end) : pieces.join("");
}

/** `index`, or the end of the escape that it is in; `from` is not inside an escape. */
function afterEscape(text: string, from: number, index: number): number {
  const least = Math.max(from, index - longestEscape + 1);
  let at = index - 1;
  while (at >= least && text.charCodeAt(at) !== backslash) at--;
  if (at < least) return index;
  let first = at;
  while (first > from && text.charCodeAt(first - 1) === backslash) first--;
  // In an even number of backslashes each pair is an escaped backslash.
  if ((at - first) % 2 === 1) return index;
  return Math.max(index, at + (text.charCodeAt(at + 1) === lowerU ? longestEscape : 2));
}

/** Length of `\u0000`. */
const longestEscape = 6;

/** Parses a large container; the range includes the brackets. */
function* parseContainer(
  parsed: Parsed,
  start: number,
  end: number,
): Generator<void, unknown, void> {
  const { text, large, stepUnits } = parsed;
  const into = text.charCodeAt(start) === openBrace ? new IntoObject(text) : new IntoArray(text);
  const last = end - 1;
  // Start of the part that isn't parsed yet: after a comma or the opening bracket.
  let from = start + 1;
  // The last comma so far of this container itself.
  let comma = -1;
  let depth = 0;
  let looked = from;
  for (let at = from; at < last; at++) {
    // A long stretch without elements: white space, or invalid JSON.
    if (at - looked >= lookedUnits) {
      looked = at;
      yield;
    }
    const code = text.charCodeAt(at);
    if (code === quote || code === openBracket || code === openBrace) {
      const behind = large.get(at);
      if (behind === undefined) {
        if (code === quote) at = afterString(text, at, last) - 1;
        else depth++;
        continue;
      }
      // With unbalanced brackets, a large value may seem to be inside a small one.
      if (depth !== 0) throw new JsonTextError(at);
      if (comma >= from) into.take(from, comma);
      const key = into.begin(comma >= from ? comma + 1 : from, at);
      yield;
      into.put(key, yield* parseLarge(memberOf(parsed, key), at, behind));
      at = skipSpace(text, behind);
      if (at > last || (at < last && text.charCodeAt(at) !== commaCode)) {
        throw new JsonTextError(at);
      }
      comma = at;
      from = at + 1;
    } else if (code === closeBracket || code === closeBrace) {
      if (--depth < 0) throw new JsonTextError(at);
    } else if (code === commaCode && depth === 0) {
      comma = at;
      if (at - from < stepUnits) continue;
      into.take(from, at);
      if (from === start + 1 && into instanceof IntoArray) {
        if (parsed.name !== undefined) parsed.glance?.(parsed.name, into.value);
      }
      from = at + 1;
      yield;
    }
  }
  // After a large last value nothing is left; after a comma a value must follow.
  if (from <= last && !(into.isEmpty && isBlank(text, from, last))) into.take(from, last);
  return into.value;
}

/** Only top-level members need their name, for `glance`. */
function memberOf({ name, glance, ...parsed }: Parsed, key: string): Parsed {
  return glance && name === undefined ? { ...parsed, glance, name: key } : parsed;
}

/** Scanning is many times faster than parsing. */
const lookedUnits = 4 * largeSpanUnits;

class IntoArray {
  readonly value: unknown[] = [];
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get isEmpty(): boolean {
    return this.value.length === 0;
  }

  /** Adds the elements in the range, which has no comma at either end. */
  take(start: number, end: number): void {
    const elements = parsePiece(this.#text, start, end, "[", "]") as unknown[];
    if (elements.length === 0) throw new JsonTextError(start);
    for (const element of elements) this.value.push(element);
  }

  /** Checks the text before a large element. */
  begin(start: number, end: number): string {
    if (!isBlank(this.#text, start, end)) throw new JsonTextError(start);
    return "";
  }

  put(_key: string, element: unknown): void {
    this.value.push(element);
  }
}

class IntoObject {
  readonly value: Record<string, unknown> = {};
  isEmpty = true;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  take(start: number, end: number): void {
    const members = Object.entries(parsePiece(this.#text, start, end, "{", "}") as object);
    if (members.length === 0) throw new JsonTextError(start);
    for (const [key, value] of members) this.put(key, value);
  }

  /** The key of a large member. */
  begin(start: number, end: number): string {
    const [key] = Object.keys(parsePiece(this.#text, start, end, "{", "null}") as object);
    if (key === undefined) throw new JsonTextError(start);
    return key;
  }

  put(key: string, value: unknown): void {
    this.isEmpty = false;
    if (key !== "__proto__") this.value[key] = value;
    else {
      const own = { value, enumerable: true, configurable: true, writable: true };
      Object.defineProperty(this.value, key, own);
    }
  }
}

function parsePiece(
  text: string,
  start: number,
  end: number,
  before: string,
  after: string,
): unknown {
  try {
    return parseExactly(before + text.slice(start, end) + after);
  } catch (thrown) {
    const found = thrown instanceof Error ? /position (\d+)/.exec(thrown.message)?.[1] : undefined;
    const position = found === undefined ? undefined : Number(found) - before.length + start;
    throw new JsonTextError(position);
  }
}

/** Index after the string whose opening quote is at `start`. */
function afterString(text: string, start: number, last: number): number {
  return Math.min(last, skipString(text, start));
}

function isBlank(text: string, start: number, end: number): boolean {
  return skipSpace(text, start) >= end;
}

const lowerU = 0x75;
const quote = 0x22;
const commaCode = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
