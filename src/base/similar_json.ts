import { parseExactly } from "./exact_json.ts";
import { Buffer } from "node:buffer";

type Json = Record<string | number, unknown>;

/** A string or number that differs between one text and the next. */
interface Hole {
  /** The fixed text before it. */
  readonly before: string;
  readonly isText: boolean;
  /** The object or array that holds its value. */
  readonly parent: Json;
  readonly key: string | number;
}

/**
 * The form of an event: fixed text with holes in it, and its value, whose holes are filled for each
 * event.
 */
interface Form {
  readonly value: unknown;
  readonly holes: readonly Hole[];
  readonly after: string;
  /** Its text is always exactly one event: it ends with a blank line, and its lines end with LF. */
  readonly isWholeEvent: boolean;
}

/** Longer events are not worth comparing. */
const maxBytes = 4096;
const maxHoles = 8;
/**
 * Learning a form costs as much as it saves on this many events. The credit starts at
 * `firstCredit`; each successful `read` gives one back.
 */
const learningCost = 8;
const firstCredit = 64;

/**
 * Reads the JSON of server-sent events, most of which differ from the one before only in a few
 * strings and numbers. Their value is the one before with these replaced, which takes a fraction of
 * the time of parsing. It is exactly what `JSON.parse` would return: in a text that is known to be
 * JSON, only the characters of strings or the digits of whole numbers are replaced.
 */
export class SimilarJson {
  readonly #isReusable: (value: unknown) => boolean;
  #last: string | undefined;
  #form: Form | undefined;
  #credit = firstCredit;

  /**
   * `isReusable` tells whether the readers of such a value retain only strings and numbers of it:
   * the next event overwrites the value.
   */
  constructor(isReusable: (value: unknown) => boolean) {
    this.#isReusable = isReusable;
  }

  /**
   * Returns the value of an event, given all its bytes, if it has the learned form; valid until the
   * next call. Undefined if the event has to be parsed.
   */
  read(bytes: Uint8Array): unknown {
    if (this.#form === undefined || bytes.length > maxBytes) return undefined;
    const text = decoder.decode(bytes);
    if (fill(this.#form, text, 0, bytes) !== text.length) return undefined;
    if (this.#credit < firstCredit) this.#credit++;
    return this.#form.value;
  }

  /**
   * Reads the events at the start of these bytes as long as they have the learned form, and calls
   * `take` with the value of each until it returns false. Returns the number of bytes read. The
   * bytes must begin with an event; they may end in the middle of one.
   */
  readRun(bytes: Uint8Array, take: (value: unknown) => boolean): number {
    const form = this.#form;
    if (!form?.isWholeEvent) return 0;
    const text = decoder.decode(bytes);
    const isAscii = text.length === bytes.length;
    // U+FFFD stands for an unknown number of invalid bytes, so positions in the bytes are unknown.
    if (!isAscii && text.includes("\ufffd")) return 0;
    let taken = 0;
    for (let end = fill(form, text, 0, bytes); end > 0; end = fill(form, text, taken, bytes)) {
      if (!take(form.value)) break;
      taken = end;
    }
    return isAscii ? taken : Buffer.byteLength(text.slice(0, taken));
  }

  /** Learns from an event that had to be parsed. */
  learn(bytes: Uint8Array, json: string, value: unknown): void {
    if (this.#credit < learningCost) return;
    if (bytes.length > maxBytes || !this.#isReusable(value)) return;
    const text = decoder.decode(bytes);
    const last = this.#last;
    this.#last = text;
    if (last === undefined) return;
    const spans = differences(last, text);
    const form = spans && formOf(text, json, spans);
    this.#credit -= spans === undefined ? 1 : learningCost;
    if (form) this.#form = form;
  }
}

/** A literal that differs; a string's span excludes its quotes. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly isText: boolean;
}

const quote = 0x22;
const backslash = 0x5c;

/**
 * Returns where the second text differs from the first; undefined if the difference isn't just a
 * few strings and numbers.
 */
function differences(first: string, second: string): Span[] | undefined {
  const spans: Span[] = [];
  let at = 0;
  let other = 0;
  while (at < second.length) {
    const isText = second.charCodeAt(at) === quote;
    if (!isText && !isNumeric(second.charCodeAt(at))) {
      if (second[at++] !== first[other++]) return undefined;
      continue;
    }
    const isSameKind = isText
      ? first.charCodeAt(other) === quote
      : isNumeric(first.charCodeAt(other));
    if (!isSameKind) return undefined;
    const end = literalEnd(second, at);
    const otherEnd = literalEnd(first, other);
    if (second.slice(at, end) !== first.slice(other, otherEnd)) {
      // A different member name means a different form.
      if (isText && second[end] === ":" || spans.length === maxHoles) return undefined;
      spans.push(isText ? { start: at + 1, end: end - 1, isText } : { start: at, end, isText });
    }
    at = end;
    other = otherEnd;
  }
  return other === first.length ? spans : undefined;
}

/** Index after the string or number that begins at `start`. */
function literalEnd(text: string, start: number): number {
  let at = start + 1;
  if (text.charCodeAt(start) !== quote) {
    while (isNumeric(text.charCodeAt(at))) at++;
    return at;
  }
  while (at < text.length && text.charCodeAt(at) !== quote) {
    at += text.charCodeAt(at) === backslash ? 2 : 1;
  }
  return Math.min(at + 1, text.length);
}

/** Digits and minus signs. Decimal points and exponents belong to the fixed text. */
function isNumeric(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39 || unit === 0x2d;
}

/** Makes the form of an event; undefined unless each differing literal is one value in the JSON. */
function formOf(text: string, json: string, spans: readonly Span[]): Form | undefined {
  const marked = markedJson(text, json, spans);
  if (marked === undefined) return undefined;
  let value: unknown;
  try {
    value = parseExactly(marked);
  } catch {
    return undefined;
  }
  const slots = spans.map(() => [] as { parent: Json; key: string | number }[]);
  findMarks(value, spans, slots);
  const holes: Hole[] = [];
  let from = 0;
  for (const [index, { start, end, isText }] of spans.entries()) {
    const [slot, ...more] = slots[index]!;
    if (slot === undefined || more.length > 0 || slot.key === "__proto__") return undefined;
    holes.push({ before: text.slice(from, start), isText, ...slot });
    from = end;
  }
  const isWholeEvent = text.endsWith("\n\n") && !text.includes("\r");
  return { value, holes, after: text.slice(from), isWholeEvent };
}

/** The JSON with a mark in place of each span; undefined if they are not all in it. */
function markedJson(text: string, json: string, spans: readonly Span[]): string | undefined {
  let last = text.length;
  while (text[last - 1] === "\n" || text[last - 1] === "\r") last--;
  const begin = last - json.length;
  // The JSON must be the whole value of the last line.
  if (text.slice(Math.max(0, begin), last) !== json) return undefined;
  if (!/(^|\n)data: ?$/.test(text.slice(0, begin))) return undefined;
  let marked = "";
  let from = begin;
  for (const [index, { start, end, isText }] of spans.entries()) {
    if (start < from || end > last) return undefined;
    marked += text.slice(from, start) + (isText ? textMark : numberMark)(index);
    from = end;
  }
  return marked + text.slice(from, last);
}

const textMark = (index: number) => `the differing text ${index}`;
const numberMark = (index: number) => 9007199254740 - index;

function findMarks(
  value: unknown,
  spans: readonly Span[],
  slots: { parent: Json; key: string | number }[][],
): void {
  if (typeof value !== "object" || value === null) return;
  const parent = value as Json;
  for (const name of Object.keys(parent)) {
    const key = Array.isArray(value) ? Number(name) : name;
    for (const [index, { isText }] of spans.entries()) {
      const mark = isText ? textMark(index) : numberMark(index);
      if (parent[key] === mark) slots[index]!.push({ parent, key });
    }
    findMarks(parent[key], spans, slots);
  }
}

/**
 * Fills a form's holes from `text`, which is `bytes` decoded, beginning at `from`. Returns where
 * the form ends in the text; -1 if the text doesn't have this form there.
 */
function fill({ holes, after }: Form, text: string, from: number, bytes: Uint8Array): number {
  let at = from;
  for (const { before, isText, parent, key } of holes) {
    if (text.slice(at, at + before.length) !== before) return -1;
    at += before.length;
    const end = isText ? textEnd(text, at) : numberEnd(text, at);
    const value = isText ? textIn(text, at, end, bytes) : numberIn(text, at, end);
    if (value === undefined) return -1;
    parent[key] = value;
    at = end;
  }
  const end = at + after.length;
  return text.slice(at, end) === after ? end : -1;
}

/** Where a string's closing quote is. */
function textEnd(text: string, start: number): number {
  let at = start;
  for (; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === quote) return at;
    if (unit === backslash) at++;
  }
  return at;
}

/** Longer slices would retain the whole text that they are taken from. */
const copiedUnits = 12;

/**
 * Returns the string in the range; undefined if it isn't JSON, or if decoding it would cost as much
 * as parsing the whole event.
 */
function textIn(text: string, start: number, end: number, bytes: Uint8Array): string | undefined {
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at);
    if (unit === backslash) return parsedText(text.slice(start - 1, end + 1));
    if (unit < 0x20) return undefined;
  }
  if (end - start <= copiedUnits) return text.slice(start, end);
  // In ASCII text bytes and characters have the same positions.
  return text.length === bytes.length ? decoder.decode(bytes.subarray(start, end)) : undefined;
}

function parsedText(literal: string): string | undefined {
  try {
    return parseExactly(literal) as string;
  } catch {
    return undefined;
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Whole numbers only, small enough to be exact. */
const maxDigits = 15;

function numberEnd(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) >= 0x30 && text.charCodeAt(at) <= 0x39) at++;
  return at;
}

function numberIn(text: string, start: number, end: number): number | undefined {
  const digits = end - start;
  if (digits === 0 || digits > maxDigits) return undefined;
  if (digits > 1 && text[start] === "0") return undefined;
  return Number(text.slice(start, end));
}
