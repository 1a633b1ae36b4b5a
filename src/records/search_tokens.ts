import { eachString } from "../base/json_strings.ts";

/**
 * The same word has another key in each span of time. A search goes through the spans, newest
 * first.
 */
export const spanMs = 4 * 3_600_000;

export function spanOf(createdAt: Date): number {
  return Math.floor(createdAt.getTime() / spanMs);
}

/** Indexed characters at the beginning and at the end of each payload; the middle isn't searchable. */
const searchedChars = 128 * 1024;
/** The most different words of one call that are indexed; more isn't natural language. */
const maxWords = 4000;

/**
 * Returns the keys of the different words in a call's payloads (JSON text): words of string values,
 * not of member names or media. The same word has another key in another account or span.
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
  return keys.all;
}

/** A parsed search: all these words, and these phrases verbatim. */
export interface SearchTerms {
  tokens: string[];
  phrases: string[];
}

const phrasePattern = /"([^"]+)"/g;

/** Parses `word "some words"`. Without tokens nothing can be found. */
export function searchTerms(text: string): SearchTerms {
  const tokens = new Set(textWords(text));
  const phrases = [...text.matchAll(phrasePattern)].map(([, phrase]) => phrase!.trim());
  return { tokens: [...tokens].slice(0, maxTerms), phrases: phrases.filter(isRun) };
}

/** Further words of a search are ignored. */
export const maxTerms = 12;

export function countTerms(text: string): number {
  return new Set(textWords(text)).size;
}

/** Whether words would be ignored: phrases are compared literally, however many words they have. */
export function hasIgnoredTerms(text: string): boolean {
  return countTerms(text) > maxTerms && countTerms(text.replace(phrasePattern, " ")) > 0;
}

/** Returns the keys of a word in these spans. */
export function termKeys(accountId: number, spans: readonly number[], word: string): number[] {
  return spans.map((span) => new Keys(accountId, span).keyOf(word));
}

/**
 * The keys of some words: 53 bits of two MurmurHash3-like hashes. Collisions are rare. Keys are not
 * meant to keep the words secret.
 */
class Keys {
  /** The different keys so far. */
  readonly all: number[] = [];
  /**
   * The same keys as a hash table, each in the first free slot from the one that its hash names. A
   * `Set` would allocate an object for each number of more than 32 bits, and the words of a text are
   * many.
   */
  #slots = noSlots;
  readonly #high: number;
  readonly #low: number;

  constructor(accountId: number, span: number) {
    this.#high = Math.imul(accountId ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(span, 0x27d4eb2f);
    this.#low = Math.imul(span ^ 0x165667b1, 0xc2b2ae35) ^ Math.imul(accountId, 0x9e3779b1);
  }

  get isFull(): boolean {
    return this.all.length >= maxWords;
  }

  keyOf(word: string): number {
    let high = this.#high;
    let low = this.#low;
    for (let at = 0; at < word.length; at++) {
      const term = termOf(word.charCodeAt(at));
      high = mix(high, term);
      low = mix(low, term);
    }
    return keyFrom(high, low, word.length);
  }

  addWord(word: string): void {
    this.#add(this.keyOf(word));
  }

  /**
   * Adds the words of a part of a text, runs of letters and digits, up to the first character that
   * isn't ASCII. Returns where that is, else `end`.
   */
  addAscii(text: string, start: number, end: number): number {
    for (let at = start; at < end && !this.isFull; at++) {
      let code = text.charCodeAt(at);
      if (code > 0x7f) return at;
      let term = terms[code]!;
      if (term === 0) continue;
      let high = this.#high;
      let low = this.#low;
      let length = 0;
      while (term !== 0) {
        if (length++ < maxWordChars) {
          high = mix(high, term);
          low = mix(low, term);
        }
        if (++at === end) break;
        code = text.charCodeAt(at);
        if (code > 0x7f) return at;
        term = terms[code]!;
      }
      this.#add(keyFrom(high, low, Math.min(length, maxWordChars)));
    }
    return end;
  }

  #add(key: number): void {
    // At least half of the slots are free.
    if (2 * this.all.length >= this.#slots.length) this.#addSlots();
    if (this.#insert(key)) this.all.push(key);
  }

  #addSlots(): void {
    const { length } = this.#slots;
    this.#slots = (length === 0 ? firstSlots : new Float64Array(4 * length)).fill(free);
    for (const key of this.all) this.#insert(key);
  }

  /** Returns false if the key has a slot already. */
  #insert(key: number): boolean {
    const slots = this.#slots;
    const last = slots.length - 1;
    const hash = Math.imul(key, lowFactor) + Math.imul(key / 0x100000000, highFactor) | 0;
    // Its upper bits: each depends on all bits of the key.
    for (let at = hash >>> Math.clz32(last);; at = (at + 1) & last) {
      if (slots[at] === key) return false;
      if (slots[at] !== free) continue;
      slots[at] = key;
      return true;
    }
  }
}

/** Random odd factors of the hash, so that callers can't choose words that share a slot. */
const [lowFactor, highFactor] = [...crypto.getRandomValues(new Uint32Array(2))]
  .map((random) => random | 1) as [number, number];

/** What each letter or digit of ASCII, in lower case, adds to a hash; 0 for other characters. */
const terms = Int32Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code).toLowerCase();
  return /[a-z0-9]/.test(char) ? termOf(char.charCodeAt(0)) : 0;
});

/** No key is negative. */
const free = -1;
const noSlots = new Float64Array(0);
/** Used by one call after the other: memory outside of the heap costs more than filling this. */
const firstSlots = new Float64Array(256);

function keyFrom(high: number, low: number, length: number): number {
  return (finish(high, length) >>> 11) * 0x100000000 + (finish(low, length) >>> 0);
}

function termOf(code: number): number {
  return Math.imul(code, 0xcc9e2d51);
}

function mix(hash: number, term: number): number {
  const mixed = hash ^ term;
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}

function finish(hash: number, length: number): number {
  let h = hash ^ length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** Yields the indexed parts of a payload; the second one may begin in the middle of a string. */
function* pieces(payload: string): Generator<string> {
  if (payload.length <= 2 * searchedChars) return yield payload;
  yield payload.slice(0, searchedChars);
  // The quote opens a string; words up to the next quote may be member names, which is harmless.
  yield `"${payload.slice(-searchedChars)}`;
}

function addStrings(jsonText: string, keys: Keys): void {
  let escape = 0;
  const isJson = eachString(jsonText, (start, end) => {
    const last = jsonText[end - 1] === '"' ? end - 1 : end;
    // One search serves all strings up to the next backslash.
    if (escape >= 0 && escape <= start) escape = jsonText.indexOf("\\", start + 1);
    if (isMedia(jsonText, start + 1, last)) return true;
    if (escape < 0 || escape >= last) addText(jsonText, keys, start + 1, last);
    else addText(unescape(jsonText.slice(start + 1, last)), keys);
    return !keys.isFull;
  });
  if (!isJson) addText(jsonText, keys);
}

/**
 * Adds the words of a part of a text. Most texts are ASCII but for a dash or a quotation mark here
 * and there: `textWords`, which takes four times as long, reads only what is around these.
 */
function addText(text: string, keys: Keys, start = 0, end = text.length): void {
  for (let at = start; at < end;) {
    const other = keys.addAscii(text, at, end);
    if (other === end) return;
    const from = afterSpace(text, at, other);
    at = asciiAfter(text, other, end);
    for (const word of textWords(text.slice(from, at))) {
      if (keys.isFull) return;
      keys.addWord(word);
    }
  }
}

/** Returns where the characters that no white space separates from the one at `at` begin. */
function afterSpace(text: string, start: number, at: number): number {
  let from = at;
  while (from > start && text.charCodeAt(from - 1) > space) from--;
  return from;
}

/**
 * Returns the next white space that much ASCII follows, else `end`. Letters are normalized and
 * lower-cased by what is around them, but not beyond white space.
 */
function asciiAfter(text: string, start: number, end: number): number {
  let found = end;
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) found = end;
    else if (found === end) found = code <= space ? at : end;
    else if (at - found > enoughAscii) return found;
  }
  return end;
}

const space = 0x20;
/** Fewer characters of ASCII are read with what is around them. */
const enoughAscii = 64;

/** Yields words as in `addAscii`, but of any script. */
function* textWords(text: string): Generator<string> {
  for (const found of fewMarks(text).normalize("NFKC").toLowerCase().match(word) ?? []) {
    if (unspaced.test(found)) yield* pairsOf(found);
    else yield found.slice(0, maxWordChars);
  }
}

/**
 * Drops combining marks beyond 30 on one letter: normalizing sorts them in quadratic time (Unicode's
 * stream-safe format, UAX #15 §13, has the same limit).
 */
function fewMarks(text: string): string {
  return text.replace(/(\p{M}{30})\p{M}+/gu, "$1");
}

const maxWordChars = 64;
const word =
  /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}]+|[[\p{L}\p{N}\p{M}]--[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}]]+/gv;
/** Scripts without blanks between words are indexed by pairs of characters. */
const unspaced = /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}]/v;

function pairsOf(text: string): string[] {
  const signs = [...text];
  if (signs.length < 3) return [text];
  return signs.slice(1).map((sign, at) => signs[at]! + sign);
}

/** Whether a string is base64 or a `data:` URL: long, and without whitespace at the beginning. */
function isMedia(text: string, start: number, end: number): boolean {
  return end - start > 1000 && !/[\s\\]/.test(text.slice(start, start + 1000));
}

/** The last escape of a cut string may be incomplete. */
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

/** Whether the phrase says more than its words, which may be anywhere in a text. */
function isRun(phrase: string): boolean {
  return /\S[^\p{L}\p{N}]+\S/u.test(phrase) || [...textWords(phrase)].length > 1;
}
