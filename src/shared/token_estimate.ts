import { Buffer } from "node:buffer";
import { finish, type Steps } from "../base/steps.ts";

/**
 * Estimates the tokens of a text: a quarter token per Latin character, half per character of other
 * alphabets, one per Chinese, Japanese or Korean character, two per character beyond the basic plane
 * (emoji). For usage that a vendor never reported, and for token counts marked as estimated. 0 only
 * for the empty text.
 */
export function estimateTokens(text: string): number {
  return finish(estimateAll([text]));
}

/** The same for several texts, joined by line feeds, in steps. */
export function* estimateAll(texts: readonly string[]): Steps<number> {
  let quarters = Math.max(0, texts.length - 1);
  let room = pieceUnits;
  for (const text of texts) {
    for (let from = 0; from < text.length; from += pieceUnits) {
      const end = Math.min(text.length, from + pieceUnits);
      if (!otherUnit.test(text.slice(from, end))) quarters += end - from;
      else for (let at = from; at < end; at++) quarters += quartersOf(text.charCodeAt(at));
      room -= end - from;
      if (room > 0) continue;
      yield;
      room = pieceUnits;
    }
  }
  return Math.ceil(quarters / 4);
}

/** UTF-16 units per step. */
const pieceUnits = 256 * 1024;

/** Upper bounds of the tokens that a vendor may count for a request's text. */
export interface InputTokenBounds {
  /** For admission: anything that looks like an inline picture counts as one. */
  inputTokens: number;
  /**
   * For judging the vendor's report: such a picture counts as text, which it may be in disguise.
   */
  believedInputTokens: number;
}

/**
 * Upper bounds of the tokens that a vendor will count for a request body. Tokenizers are byte-level
 * or fall back to bytes, so a token covers at least one byte of UTF-8. What vendors add to a message
 * is less than its JSON syntax; what they add once (tool instructions of 300 to 800 tokens) is the
 * constant. For lower-case Latin letters the bound is tighter: a word counts one token, plus two
 * thirds for each further letter, and nothing for the space before it. Measured with o200k and cl100k
 * that is 2.6 times the real count for English and code, and 1.0 times for strings of the rarest
 * letters. Never billed.
 *
 * Callers add content that isn't in the body: images and files by address (`fetchedTokenBound`) or
 * id, stored conversations, explicit caches.
 */
export function inputTokenBounds(body: string): InputTokenBounds {
  return finish(boundInputTokens(body));
}

/** The same in steps. */
export function* boundInputTokens(body: string): Steps<InputTokenBounds> {
  let inputTokens = vendorOverheadTokens;
  let disguised = 0;
  let at = 0;
  const media = mayHoldMedia(body) ? inlineMedia(body) : [];
  for (const one of media) {
    yield;
    if (!one) continue;
    const { start, end, isImage } = one;
    inputTokens += textBound(body.slice(at, start));
    inputTokens += isImage ? maxImageTokens : Math.ceil((end - start) / 4);
    if (isImage) disguised += disguisedTokens(end - start);
    at = end;
  }
  yield;
  inputTokens += textBound(body.slice(at));
  return { inputTokens, believedInputTokens: inputTokens + disguised };
}

/** Tokens of a picture's base64 if it's text, one per byte, beyond those of a picture. */
function disguisedTokens(bytes: number): number {
  return Math.max(0, Math.min(bytes, largestContextTokens) - maxImageTokens);
}

/** Reads bytes: reading English unit by unit takes three times as long. */
function textBound(text: string): number {
  // Beyond every context window: counting bytes is faster.
  if (text.length > maxReadChars) return Buffer.byteLength(text);
  let thirds = 0;
  let before = other;
  for (let from = 0; from < text.length;) {
    const { read, written } = encoder.encodeInto(from === 0 ? text : text.slice(from), room);
    from += read;
    for (let index = 0; index < written; index++) {
      const kind = kinds[room[index]!]!;
      thirds += thirdsAfter[before * kindCount + kind]!;
      before = kind;
    }
  }
  return Math.ceil(thirds / 3);
}

const maxReadChars = 4 * 1024 * 1024;
const encoder = new TextEncoder();
const room = new Uint8Array(16 * 1024);

const [other, small, capital, space] = [0, 1, 2, 3];
const kindCount = 4;

/** The kind of each byte. */
const kinds = new Uint8Array(256).fill(other)
  .fill(small, 0x61, 0x7b).fill(capital, 0x41, 0x5b).fill(space, 0x20, 0x21);

/**
 * Thirds of a token for a byte, by the kind of the byte before it and its own. The first letter of a
 * word takes back what the space before it counted.
 */
const thirdsAfter = new Uint8Array(kindCount * kindCount).fill(3);
thirdsAfter[small * kindCount + small] = 2;
thirdsAfter[space * kindCount + small] = thirdsAfter[space * kindCount + capital] = 0;

/** More than any vendor counts for an image; they scale large ones down. */
export const maxImageTokens = 16 * 1024;

const largestContextTokens = 1_000_000;

/**
 * Tokens of a document or video that the vendor fetches itself, whose length is unknown here: a
 * tenth of the largest context window, so that the vendor's report is believed (`plausible`)
 * whatever the file holds.
 */
const fetchedFileTokens = largestContextTokens / 10;

/** The bound for media at an address; 0 for everything else, such as media in the request itself. */
export function fetchedTokenBound(address: unknown, kind: "image" | "file"): number {
  if (typeof address !== "string" || !/^\s*https?:/i.test(address)) return 0;
  return kind === "image" ? maxImageTokens : fetchedFileTokens;
}

/**
 * Base64 in JSON strings, recognized by its `data:` address or by the first bytes of formats that
 * vendors accept. Images have a maximum in tokens; of audio, video and documents a token covers at
 * least three bytes. Yields undefined between the pieces of a long string, and for one that is
 * something else.
 */
function* inlineMedia(
  body: string,
): Iterable<{ start: number; end: number; isImage: boolean } | undefined> {
  const pattern = new RegExp(mediaStart);
  for (let found; (found = pattern.exec(body));) {
    const { index: start, 0: { length }, 1: image } = found;
    // A pattern for the whole string would overflow the stack of regular expressions.
    const close = body.indexOf('"', start + length);
    if (close < 0) return;
    let at = start + length;
    let isBase64 = true;
    for (; isBase64 && at < close; at += testedUnits) {
      if (at > start + length) yield undefined;
      isBase64 = !notBase64.test(body.slice(at, Math.min(close, at + testedUnits)));
    }
    if (!isBase64) {
      yield undefined;
      continue;
    }
    // The pattern would look for a quote in all of it.
    pattern.lastIndex = close + 1;
    yield { start, end: close + 1, isImage: image !== undefined };
  }
}

/**
 * Whether any piece of a text is nothing but base64. Media are long enough to fill a whole piece. Of
 * other text this reads a word or so per piece, where the pattern would read all of it.
 */
function mayHoldMedia(body: string): boolean {
  for (let at = 0; at + pieceChars <= body.length; at += pieceChars) {
    if (!notBase64.test(body.slice(at, at + pieceChars))) return true;
  }
  return false;
}

/** UTF-16 units of a string that are tested in a step: a few milliseconds. */
const testedUnits = 1024 * 1024;
/** Half of the length that `mediaStart` asks for. */
const pieceChars = 8_000;
const notBase64 = /[^\w+/=-]/;
const mediaStart =
  /"(?:data:[\w.+-]{1,127}\/[\w.+-]{1,127};base64,)?(?:(iVBORw0KGgo|\/9j\/|R0lGOD|UklGR[A-Za-z0-9+/]{6}XRUJQ)|JVBERi0|SUQz|\/\/[E-Pk-v]|UklGR|T2dnUw|ZkxhQ|AAAA)[\w+/=-]{16000}/g;

/** Upper bound of the tokens that vendors themselves add to a request. */
export const vendorOverheadTokens = 1024;

/** A unit beyond Latin. Texts that V8 stores as bytes have none, which it knows without reading. */
const otherUnit = /[\u0300-\uffff]/;

function quartersOf(unit: number): number {
  if (unit < 0x0300) return 1;
  // Surrogates: a pair is one character of two tokens.
  if (unit >= 0xd800 && unit <= 0xdfff) return 4;
  // From CJK radicals on: Han, kana, Hangul syllables and full-width forms.
  const dense = unit >= 0x2e80 && unit <= 0xd7ff || unit >= 0xf900 && unit <= 0xfaff ||
    unit >= 0xff00 || unit >= 0x1100 && unit <= 0x11ff;
  return dense ? 4 : 2;
}
