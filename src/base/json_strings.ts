import { seekQuote, type TextRange } from "./json_text.ts";

export interface PlacedString extends TextRange {
  /** The member whose value it is, or whose array holds it; empty at the top level. */
  readonly key: string;
  /** Key of the object that holds that member, or of the array that holds the object. */
  readonly parent: string;
  /** Start of the object that holds it; undefined outside of any. */
  readonly object: number | undefined;
  /** Number of enclosing objects and arrays. */
  readonly depth: number;
}

/**
 * String values of at least `minUnits` UTF-16 units (as written, without quotes), in order. Skips
 * over strings, so that text with few long ones is fast; nothing recurses. In invalid JSON it may
 * find some strings, or none.
 */
export function* longStrings(text: string, minUnits: number): Generator<PlacedString> {
  for (const found of longStringsSteps(text, minUnits)) if (found) yield found;
}

/** The same in steps; yields undefined between them. */
export function* longStringsSteps(
  text: string,
  minUnits: number,
): Generator<PlacedString | undefined> {
  if (text.length < minUnits) return;
  const open: Container[] = [];
  let looked = 0;
  for (let at = 0; at < text.length; at++) {
    if (at - looked >= stepUnits) {
      looked = at;
      yield undefined;
    }
    const code = text.charCodeAt(at);
    const inside = open.at(-1);
    if (code === quote) {
      let end = seekQuote(text, at + 1, at + stepUnits);
      while (end < 0) {
        yield undefined;
        end = seekQuote(text, -end, -end + stepUnits);
      }
      if (inside?.isObject && inside.awaitsKey) {
        inside.key = keyAt(text, at, end);
        inside.awaitsKey = false;
      } else if (end - at - 2 >= minUnits) {
        yield { start: at, end, ...placeOf(open) };
      }
      at = end - 1;
    } else if (code === openBrace || code === openBracket) {
      const isObject = code === openBrace;
      open.push({
        isObject,
        start: at,
        key: isObject ? "" : nearestKey(open),
        awaitsKey: isObject,
        object: isObject ? open.length : inside?.object ?? -1,
      });
    } else if (code === closeBrace || code === closeBracket) {
      open.pop();
    } else if (code === comma && inside?.isObject) {
      inside.awaitsKey = true;
    }
  }
}

/**
 * Calls `take` with the range of each string value that isn't empty, quotes included, in order,
 * until it returns false: `longStrings` without paths, at a third of its cost. Returns whether
 * there was any.
 */
export function eachString(text: string, take: (start: number, end: number) => boolean): boolean {
  /** The contexts of the containers around the innermost one. */
  const outer: Context[] = [];
  let context: Context = "value";
  let isFound = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      const end = seekQuote(text, at + 1, Infinity);
      if (context === "key") {
        context = "member";
      } else if (end - at > 2) {
        isFound = true;
        if (!take(at, end)) return true;
      }
      at = end - 1;
    } else if (code === openBrace || code === openBracket) {
      outer.push(context);
      context = code === openBrace ? "key" : "value";
    } else if (code === closeBrace || code === closeBracket) {
      context = outer.pop() ?? "value";
    } else if (code === comma && context === "member") {
      context = "key";
    }
  }
  return isFound;
}

/** Where in a container the next string is: in an object as a key or after one, or in an array. */
type Context = "key" | "member" | "value";

/** Shorter than other steps: containers cost more than strings. */
const stepUnits = 128 * 1024;

interface Container {
  readonly isObject: boolean;
  readonly start: number;
  /** The current member of an object; the member that holds an array. */
  key: string;
  awaitsKey: boolean;
  /** Index of the innermost object among the open containers; -1 for none. */
  readonly object: number;
}

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

function nearestKey(open: readonly Container[]): string {
  return open.at(-1)?.key ?? "";
}

function placeOf(open: readonly Container[]): Omit<PlacedString, "start" | "end"> {
  const at = open.at(-1)?.object ?? -1;
  return {
    key: nearestKey(open),
    parent: open[at - 1]?.key ?? "",
    object: open[at]?.start,
    depth: open.length,
  };
}

function keyAt(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1);
  if (!inner.includes("\\")) return inner;
  try {
    return JSON.parse(text.slice(start, end)) as string;
  } catch {
    return inner;
  }
}
