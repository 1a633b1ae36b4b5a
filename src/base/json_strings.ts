import { seekQuote, type TextRange } from "./json_text.ts";

/** A string value in a JSON text, and where it stands. */
export interface PlacedString extends TextRange {
  /** The member whose value it is, or whose array holds it; empty at the top. */
  readonly key: string;
  /** Key of the object that holds that member, or of the array that holds the object. */
  readonly parent: string;
  /** Where the object that holds it begins; undefined outside of any. */
  readonly object: number | undefined;
  /** In so many objects and arrays. */
  readonly depth: number;
}

/**
 * String values of at least `minUnits` UTF-16 units (as written, quotes not counted), in their
 * order. Jumps over strings, so that text with few long ones is walked fast; nothing recurses. Of
 * text that is no JSON what is found before it breaks off may be given.
 */
export function* longStrings(text: string, minUnits: number): Generator<PlacedString> {
  for (const found of longStringsSteps(text, minUnits)) if (found) yield found;
}

/** The same in steps: between two of them undefined is given. */
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

/** A container costs more than a unit of a string does. */
const stepUnits = 128 * 1024;

interface Container {
  readonly isObject: boolean;
  readonly start: number;
  /** Of an object its present member; of an array the member whose value it is. */
  key: string;
  awaitsKey: boolean;
  /** Where among the open ones the innermost object stands; -1 for none. */
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
