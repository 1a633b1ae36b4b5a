import { Buffer } from "node:buffer";

/**
 * How many tokens a text has, roughly: a quarter token per Latin character, half per character of
 * other alphabets, one per Chinese, Japanese or Korean character, two per character beyond the
 * basic plane (emoji). For usage that a vendor never reported (translation.md §9: ≈ chars/4) and
 * for token counts marked as estimated. 0 only for the empty text.
 */
export function estimateTokens(text: string): number {
  let quarters = 0;
  for (let index = 0; index < text.length; index++) {
    quarters += quartersOf(text.charCodeAt(index));
  }
  return Math.ceil(quarters / 4);
}

/**
 * No fewer tokens than a vendor will count for a request body of text: tokenizers in use are
 * byte-level or fall back to bytes, so a token covers at least one byte of UTF-8; what vendors add
 * to a message is less than its JSON around it, and what they add once (tool instructions of 300 to
 * 800 tokens) is the constant. Some four times the real count for English, which only matters for
 * admission: nothing is billed by it.
 *
 * Not covered, to be added by who knows them: content that isn't in the body (images and files by
 * address or id, stored conversations, explicit caches).
 */
export function inputTokenBound(body: string): number {
  const bytes = Buffer.byteLength(body) + vendorOverheadTokens;
  if (body.length < minMediaChars) return bytes;
  let bound = bytes;
  for (const [whole, , image] of body.matchAll(inlineMedia)) {
    const tokens = image === undefined ? Math.ceil(whole.length / 4) : maxImageTokens;
    bound -= Math.max(0, whole.length - tokens);
  }
  return bound;
}

const minMediaChars = 16 * 1024;
/** The dearest image of any vendor has fewer (images-and-speech.md; vendors scale large ones down). */
const maxImageTokens = 16 * 1024;

/**
 * Base64 in a JSON string, told by its data address or by the first bytes of the formats that
 * vendors take. Images have a greatest size in tokens; of audio, video and documents a token covers
 * at least three bytes.
 */
const inlineMedia =
  /"(data:[\w.+-]+\/[\w.+-]+;base64,)?(?:(iVBORw0KGgo|\/9j\/|R0lGOD|UklGR[A-Za-z0-9+/]{6}XRUJQ)|JVBERi0|SUQz|\/\/[tuv]|UklGR|T2dnUw|ZkxhQ|AAAA)[\w+/=-]{16000,}"/g;

/** Upper bound of tokens that vendors add of their own to a request. */
export const vendorOverheadTokens = 1024;

function quartersOf(unit: number): number {
  if (unit < 0x0300) return 1;
  // Halves of surrogate pairs: two of them make one character of two tokens.
  if (unit >= 0xd800 && unit <= 0xdfff) return 4;
  // From the radicals on: Han, kana, Hangul syllables and the full-width forms.
  const dense = unit >= 0x2e80 && unit <= 0xd7ff || unit >= 0xf900 && unit <= 0xfaff ||
    unit >= 0xff00 || unit >= 0x1100 && unit <= 0x11ff;
  return dense ? 4 : 2;
}
