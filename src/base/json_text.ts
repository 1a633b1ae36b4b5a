// Our own: it replaces values inside the text, and leaves every other byte as the caller sent it.
import { finish, type Steps } from "./steps.ts";

/**
 * Finds and replaces values inside JSON text without serializing the rest again, so that unknown
 * fields, `1.0`, 20-digit integers and key order survive. The text must be valid JSON; otherwise
 * results are meaningless. Nothing here recurses. Functions that scan a whole text also come in
 * steps, for texts of megabytes.
 */

/** A half-open range of UTF-16 units in a text. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Replaces a range of the original text; an empty range inserts. */
export interface Edit extends TextRange {
  readonly text: string;
}

/** One member of an object: its key's opening quote and its value's range. */
export interface Member {
  readonly key: string;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** The members of an object by key; of a duplicate key the last, as in `JSON.parse`. */
export interface Members {
  readonly range: TextRange;
  readonly members: ReadonlyMap<string, Member & { readonly count: number }>;
  /** Duplicate keys, in the order of their first repetition. */
  readonly duplicates: readonly string[];
}

/**
 * Range of the value at `path` (keys of objects, indexes of arrays); undefined if there is none. Of a
 * duplicate key the last counts, as in `JSON.parse`; keys are compared decoded.
 */
export function locate(text: string, path: readonly (string | number)[]): TextRange | undefined {
  return finish(locateSteps(text, path));
}

export function locateSteps(
  text: string,
  path: readonly (string | number)[],
): Steps<TextRange | undefined> {
  return locateAt(text, skipSpace(text, 0), path);
}

/** `locate`, given the top-level members, so that the rest of the text isn't scanned again. */
export function locateIn(
  text: string,
  top: Members,
  path: readonly (string | number)[],
): TextRange | undefined {
  return finish(locateInSteps(text, top, path));
}

export function* locateInSteps(
  text: string,
  top: Members,
  [first, ...rest]: readonly (string | number)[],
): Steps<TextRange | undefined> {
  if (first === undefined) return top.range;
  const member = top.members.get(String(first));
  if (member === undefined) return undefined;
  if (rest.length === 0) return { start: member.valueStart, end: member.valueEnd };
  return yield* locateAt(text, member.valueStart, rest);
}

function* locateAt(
  text: string,
  from: number,
  path: readonly (string | number)[],
): Steps<TextRange | undefined> {
  let start = from;
  for (const step of path) {
    const found: number | undefined = typeof step === "string"
      ? yield* lastMember(text, start, step)
      : yield* item(text, start, step);
    if (found === undefined) return undefined;
    start = found;
  }
  return { start, end: yield* skipValue(text, start) };
}

/** The range of the value that is all of the text. */
export function wholeRange(text: string): TextRange {
  return { start: skipSpace(text, 0), end: text.length };
}

/** Members of the top-level object; undefined for another kind of value. */
export function topLevelMembers(text: string): Members | undefined {
  return finish(topLevelMembersSteps(text));
}

export function topLevelMembersSteps(text: string): Steps<Members | undefined> {
  return membersAtSteps(text, skipSpace(text, 0));
}

/** Members of the object at `start`; undefined for another kind of value. */
export function membersAt(text: string, start: number): Members | undefined {
  return finish(membersAtSteps(text, start));
}

export function* membersAtSteps(text: string, start: number): Steps<Members | undefined> {
  const list = yield* listMembers(text, start);
  if (list === undefined) return undefined;
  const members = new Map<string, Member & { count: number }>();
  const duplicates: string[] = [];
  let passed = 0;
  for (const member of list.members) {
    const count = (members.get(member.key)?.count ?? 0) + 1;
    if (count === 2) duplicates.push(member.key);
    members.set(member.key, { ...member, count });
    if (++passed % stepMembers === 0) yield;
  }
  return { range: { start, end: list.end }, members, duplicates };
}

export function* itemsAt(text: string, array: TextRange): Steps<TextRange[]> {
  const items: TextRange[] = [];
  let looked = array.start;
  for (let start = yield* item(text, array.start, 0); start !== undefined;) {
    const end = yield* skipValue(text, start);
    items.push({ start, end });
    const next = skipSpace(text, end);
    start = text.charCodeAt(next) === COMMA ? skipSpace(text, next + 1) : undefined;
    if (next - looked < stepUnits) continue;
    looked = next;
    yield;
  }
  return items;
}

/** Work on a list of items in order, in steps by the length of their text. */
export function* forEachItem(
  items: readonly TextRange[],
  act: (item: TextRange) => Steps<void>,
): Steps<void> {
  let looked = items[0]?.start ?? 0;
  for (const item of items) {
    yield* act(item);
    if (item.end - looked < stepUnitsOfItems) continue;
    looked = item.end;
    yield;
  }
}

/** Removes the items of an array for which `isRemoved` is true, given their index. */
export function* removeItems(
  items: readonly TextRange[],
  isRemoved: (index: number) => boolean,
): Steps<Edit[]> {
  const edits: Edit[] = [];
  let looked = 0;
  for (let from = 0; from < items.length; from++) {
    if (from - looked >= stepItems) {
      looked = from;
      yield;
    }
    if (!isRemoved(from)) continue;
    let to = from;
    while (to + 1 < items.length && isRemoved(to + 1)) to++;
    // A run is removed with the comma after it, or, at the end of the array, the one before it.
    const next = items[to + 1];
    const before = items[from - 1];
    edits.push({
      start: next || !before ? items[from]!.start : before.end,
      end: next ? next.start : items[to]!.end,
      text: "",
    });
    from = to;
  }
  return edits;
}

/** Applies the edits, in any order. Throws if two of them overlap. */
export function splice(text: string, edits: readonly Edit[]): string {
  return finish(spliceSteps(text, edits));
}

export function* spliceSteps(text: string, edits: readonly Edit[]): Steps<string> {
  let result = "";
  const pieces: string[] = [];
  let from = 0;
  for (const edit of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    if (edit.start < from || edit.end < edit.start || edit.end > text.length) {
      throw new Error(`Edit ${edit.start}–${edit.end} overlaps another or lies outside the text`);
    }
    pieces.push(text.slice(from, edit.start), edit.text);
    from = edit.end;
    if (pieces.length < splicedPieces) continue;
    // Joined, they are copied in this step, not all at once where the whole is first read.
    result += pieces.splice(0).join("");
    yield;
  }
  for (const piece of pieces) result += piece;
  return result + text.slice(from);
}

/**
 * Appends a member to an object. `valueText` is JSON text. For several changes to the same object use
 * `changeMembers`, which gets the commas between them right.
 */
export function insertMember(
  text: string,
  object: TextRange,
  key: string,
  valueText: string,
): Edit {
  return changeMembers(text, object, { insert: [[key, valueText]] })[0] as Edit;
}

/** Removes a member, and any duplicates, from an object. */
export function removeMember(text: string, object: TextRange, key: string): Edit[] {
  return changeMembers(text, object, { remove: [key] });
}

interface MemberChanges {
  readonly remove?: readonly string[];
  readonly insert?: readonly (readonly [string, string])[];
}

/** Removes members and appends others, in one set of edits. */
export function changeMembers(text: string, object: TextRange, changes: MemberChanges): Edit[] {
  return finish(changeMembersSteps(text, object, changes));
}

export function* changeMembersSteps(
  text: string,
  object: TextRange,
  changes: MemberChanges,
): Steps<Edit[]> {
  const list = yield* listMembers(text, object.start);
  if (list === undefined) throw new Error(`There is no object at ${object.start}`);
  const removed = new Set(changes.remove);
  const edits: Edit[] = [];
  let lastRemaining: Member | undefined;
  let runStart: Member | undefined;
  for (const member of list.members) {
    if (removed.has(member.key)) {
      runStart ??= member;
      continue;
    }
    if (runStart) edits.push({ start: runStart.keyStart, end: member.keyStart, text: "" });
    runStart = undefined;
    lastRemaining = member;
  }
  const last = list.members.at(-1);
  if (runStart && last) {
    edits.push({
      start: lastRemaining?.valueEnd ?? runStart.keyStart,
      end: last.valueEnd,
      text: "",
    });
  }
  const added = (changes.insert ?? []).map(([key, value]) => `${JSON.stringify(key)}:${value}`);
  if (added.length > 0) {
    const at = last?.valueEnd ?? object.start + 1;
    edits.push({ start: at, end: at, text: (lastRemaining ? "," : "") + added.join(",") });
  }
  return edits;
}

/**
 * Removes the first `units` UTF-16 units of the decoded string from its token (`string` includes the
 * quotes); the rest of the token stays as written. If the string is shorter, it becomes empty.
 */
export function cutStringPrefix(text: string, string: TextRange, units: number): Edit {
  const start = string.start + 1;
  const last = string.end - 1;
  let at = start;
  let left = units;
  while (left > 0 && at < last) {
    const escape = text.indexOf("\\", at);
    const plain = Math.min(left, (escape < 0 || escape > last ? last : escape) - at);
    at += plain;
    left -= plain;
    // An escape is one unit, surrogate halves too: \uXXXX in six characters, others in two.
    while (left > 0 && at < last && text.charCodeAt(at) === BACKSLASH) {
      at += text.charCodeAt(at + 1) === LOWER_U ? 6 : 2;
      left--;
    }
  }
  return { start, end: at, text: "" };
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LOWER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const stepUnits = 512 * 1024;
/** Items are read several times, and short ones take longer. */
const stepUnitsOfItems = 64 * 1024;
const stepMembers = 1024;
const stepItems = 16 * 1024;
/** Two for each edit. */
const splicedPieces = 32 * 1024;

/** All members in their order, also those of duplicate keys; undefined for another kind of value. */
export function* listMembers(
  text: string,
  start: number,
): Steps<{ members: Member[]; end: number } | undefined> {
  if (text.charCodeAt(start) !== OPEN_BRACE) return undefined;
  const members: Member[] = [];
  let looked = start;
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = skipString(text, at);
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const valueEnd = yield* skipValue(text, valueStart);
    members.push({ key: decodeKey(text, at, keyEnd), keyStart: at, valueStart, valueEnd });
    at = skipSpace(text, valueEnd);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
    if (at - looked < stepUnits) continue;
    looked = at;
    yield;
  }
  return { members, end: at + 1 };
}

function* lastMember(text: string, start: number, key: string): Steps<number | undefined> {
  const list = yield* listMembers(text, start);
  return list?.members.findLast((member) => member.key === key)?.valueStart;
}

function* item(text: string, start: number, index: number): Steps<number | undefined> {
  if (text.charCodeAt(start) !== OPEN_BRACKET) return undefined;
  let looked = start;
  let at = skipSpace(text, start + 1);
  if (text.charCodeAt(at) === CLOSE_BRACKET) return undefined;
  for (let passed = 0; passed !== index; passed++) {
    at = skipSpace(text, yield* skipValue(text, at));
    if (text.charCodeAt(at) !== COMMA) return undefined;
    at = skipSpace(text, at + 1);
    if (at - looked < stepUnits) continue;
    looked = at;
    yield;
  }
  return at;
}

function decodeKey(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1);
  return inner.includes("\\") ? JSON.parse(text.slice(start, end)) as string : inner;
}

export function skipSpace(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); isSpace(code); code = text.charCodeAt(at)) at++;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function* skipValue(text: string, start: number): Steps<number> {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return yield* skipStringSteps(text, start);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return yield* skipContainer(text, start);
  let at = start;
  while (at < text.length && !endsScalar(text.charCodeAt(at))) at++;
  return at;
}

function endsScalar(code: number): boolean {
  return code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code);
}

function* skipContainer(text: string, start: number): Steps<number> {
  let depth = 0;
  let at = start;
  let looked = start;
  do {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = seekQuote(text, at + 1, at + stepUnits);
      while (at < 0) {
        yield;
        at = seekQuote(text, -at, -at + stepUnits);
      }
    } else {
      if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
      at++;
    }
    if (at - looked >= stepUnits) {
      looked = at;
      yield;
    }
  } while (depth > 0 && at < text.length);
  return at;
}

/** Index after the closing quote: the first quote with an even number of backslashes before it. */
export function skipString(text: string, start: number): number {
  return seekQuote(text, start + 1, Infinity);
}

function* skipStringSteps(text: string, start: number): Steps<number> {
  let end = seekQuote(text, start + 1, start + stepUnits);
  while (end < 0) {
    yield;
    end = seekQuote(text, -end, -end + stepUnits);
  }
  return end;
}

/**
 * Index after the closing quote of the string that `from` is in. If there is none before about
 * `until`: the index to continue from, negated.
 */
export function seekQuote(text: string, from: number, until: number): number {
  let at = from;
  while (at < until) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return quote + 1;
    // Escaped quotes come in groups: scanning is cheaper than searching for each.
    const end = Math.min(text.length, quote + 1 + walkedUnits);
    for (at = quote + 1; at < end; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) return at + 1;
      if (code === BACKSLASH) at++;
    }
  }
  return -at;
}

/** Units to scan after an escaped quote before searching again. */
const walkedUnits = 1024;
