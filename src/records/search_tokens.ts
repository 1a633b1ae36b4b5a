import { longStrings } from "../base/json_strings.ts";

/** Calls of one span share their words' keys: a search goes through spans, the newest first. */
export const spanMs = 4 * 3_600_000;

/** The span that a call lies in. */
export function spanOf(createdAt: Date): number {
  return Math.floor(createdAt.getTime() / spanMs);
}

/** Of each payload, at its beginning and at its end: what lies between isn't found by its words. */
const searchedChars = 128 * 1024;
/** Different words of one call; more are no words of people. */
const maxWords = 4000;

/**
 * Keys of the different words that a call's payloads say, given as JSON text: words of string
 * values, not of members' names, and none of media. A word's key is of its account and span alone.
 */
export function searchKeys(
  call: { accountId: number; createdAt: Date },
  payloads: readonly (string | null)[],
): number[] {
  const keys = new Keys(call.accountId, spanOf(call.createdAt));
  for (const payload of payloads) {
    if (payload === null) continue;
    for (const piece of pieces(payload)) addStrings(piece, keys);
  }
  return [...keys.all];
}

/** What somebody looks for: all these words, and these runs of them as they are written. */
export interface SearchTerms {
  tokens: string[];
  phrases: string[];
}

/** Reads `word "some words"`. No words: nothing can be found. */
export function searchTerms(text: string): SearchTerms {
  const tokens = new Set(textWords(text));
  const phrases = [...text.matchAll(/"([^"]+)"/g)].map(([, phrase]) => phrase!.trim());
  return { tokens: [...tokens].slice(0, maxTerms), phrases: phrases.filter(isRun) };
}

/** Words of a search that are looked at. */
const maxTerms = 12;

/** Keys of a word in these spans. */
export function termKeys(accountId: number, spans: readonly number[], word: string): number[] {
  return spans.map((span) => {
    const keys = new Keys(accountId, span);
    keys.addWord(word);
    return [...keys.all][0]!;
  });
}

/**
 * Keys of words: 53 bits of two hashes of MurmurHash3's kind, so that two words hardly ever share
 * one. They are not meant to hide anything.
 */
class Keys {
  readonly all = new Set<number>();
  readonly #high: number;
  readonly #low: number;

  constructor(accountId: number, span: number) {
    this.#high = Math.imul(accountId ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(span, 0x27d4eb2f);
    this.#low = Math.imul(span ^ 0x165667b1, 0xc2b2ae35) ^ Math.imul(accountId, 0x9e3779b1);
  }

  get isFull(): boolean {
    return this.all.size >= maxWords;
  }

  addWord(word: string): void {
    let high = this.#high;
    let low = this.#low;
    for (let at = 0; at < word.length; at++) {
      high = mix(high, word.charCodeAt(at));
      low = mix(low, word.charCodeAt(at));
    }
    this.#add(high, low, word.length);
  }

  /** The words of a text, which are runs of letters and digits; false where it isn't all ASCII. */
  addAscii(text: string, start: number, end: number): boolean {
    let high = this.#high;
    let low = this.#low;
    let length = 0;
    for (let at = start; at <= end; at++) {
      let code = at === end ? 0 : text.charCodeAt(at);
      if (code > 0x7f) return false;
      if (code >= 0x41 && code <= 0x5a) code += 0x20;
      if ((code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39)) {
        if (length++ >= maxWordChars) continue;
        high = mix(high, code);
        low = mix(low, code);
      } else if (length > 0) {
        this.#add(high, low, Math.min(length, maxWordChars));
        if (this.isFull) return true;
        high = this.#high;
        low = this.#low;
        length = 0;
      }
    }
    return true;
  }

  #add(high: number, low: number, length: number): void {
    this.all.add((finish(high, length) >>> 11) * 0x100000000 + (finish(low, length) >>> 0));
  }
}

function mix(hash: number, code: number): number {
  const mixed = hash ^ Math.imul(code, 0xcc9e2d51);
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}

function finish(hash: number, length: number): number {
  let h = hash ^ length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** What is looked at of a payload; the second piece of a cut one begins anywhere. */
function* pieces(payload: string): Generator<string> {
  if (payload.length <= 2 * searchedChars) return yield payload;
  yield payload.slice(0, searchedChars);
  // A string begins somewhere behind; the words before it may be members' names, which is no harm.
  yield `"${payload.slice(-searchedChars)}`;
}

function addStrings(jsonText: string, keys: Keys): void {
  let isJson = false;
  let escape = 0;
  for (const { start, end } of longStrings(jsonText, 1)) {
    isJson = true;
    if (keys.isFull) return;
    const last = jsonText[end - 1] === '"' ? end - 1 : end;
    // Looked for once for all strings up to it.
    if (escape >= 0 && escape <= start) escape = jsonText.indexOf("\\", start + 1);
    if (isMedia(jsonText, start + 1, last)) continue;
    const isPlain = escape < 0 || escape >= last;
    if (isPlain && keys.addAscii(jsonText, start + 1, last)) continue;
    const written = jsonText.slice(start + 1, last);
    addText(isPlain ? written : unescape(written), keys);
  }
  if (!isJson) addText(jsonText, keys);
}

function addText(text: string, keys: Keys): void {
  if (keys.addAscii(text, 0, text.length)) return;
  for (const word of textWords(text)) {
    if (keys.isFull) return;
    keys.addWord(word);
  }
}

/** As `addAscii` has them, and in other scripts. */
function* textWords(text: string): Generator<string> {
  for (const found of fewMarks(text).normalize("NFKC").toLowerCase().match(word) ?? []) {
    if (unspaced.test(found)) yield* pairsOf(found);
    else yield found.slice(0, maxWordChars);
  }
}

/**
 * Without the marks beyond 30 on one letter: normalising sorts them in time that grows with their
 * square (Unicode's stream-safe format, UAX #15 §13, has the same number).
 */
function fewMarks(text: string): string {
  return text.replace(/(\p{M}{30})\p{M}+/gu, "$1");
}

const maxWordChars = 64;
const word =
  /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}]+|[[\p{L}\p{N}\p{M}]--[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}]]+/gv;
/** Writing without blanks between words is found by pairs of signs. */
const unspaced = /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}]/v;

function pairsOf(text: string): string[] {
  const signs = [...text];
  if (signs.length < 3) return [text];
  return signs.slice(1).map((sign, at) => signs[at]! + sign);
}

/** Base64 and addresses of data: long, and without a blank at their beginning. */
function isMedia(text: string, start: number, end: number): boolean {
  return end - start > 1000 && !/[\s\\]/.test(text.slice(start, start + 1000));
}

/** A cut string's last escape may be half. */
function unescape(written: string): string {
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    return written.replace(
      /\\u([0-9a-fA-F]{4})/g,
      (_, code) => String.fromCharCode(parseInt(code, 16)),
    )
      .replace(/\\./g, " ");
  }
}

function isRun(phrase: string): boolean {
  return /\S[^\p{L}\p{N}]+\S/u.test(phrase);
}
