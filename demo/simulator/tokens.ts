/** A plausible tokenizer, which cuts words into pieces as the vendors' own do. */

const PIECE = /\s?\p{L}{1,6}|\s?\p{N}{1,3}|\s?[^\s\p{L}\p{N}]|\s+/gu;

/** Cuts the text into token-like pieces; joined, they are the text again. */
export function tokenize(text: string): string[] {
  return text.match(PIECE) ?? [];
}

/** How many tokens a text has. */
export function countTokens(text: string): number {
  return tokenize(text).length;
}

const TOKENS_PER_MEDIUM = 258;
const MEDIUM_AT_LEAST = 200;
const BASE64 = /^(data:[^,]*,)?[A-Za-z0-9+/=_-]+$/;

/**
 * Counts the tokens of a prompt of any shape: those of every string in it, one more for each
 * object, and a fixed number for base64, as one medium.
 */
export function countPromptTokens(prompt: unknown): number {
  if (typeof prompt === "string") {
    const isMedium = prompt.startsWith("data:") ||
      (prompt.length >= MEDIUM_AT_LEAST && BASE64.test(prompt));
    return isMedium ? TOKENS_PER_MEDIUM : countTokens(prompt);
  }
  if (Array.isArray(prompt)) {
    return prompt.reduce((sum: number, item) => sum + countPromptTokens(item), 0);
  }
  if (typeof prompt === "object" && prompt !== null) {
    return Object.values(prompt).reduce((sum: number, item) => sum + countPromptTokens(item), 1);
  }
  return prompt === undefined || prompt === null ? 0 : 1;
}

/** Returns a 32-bit FNV-1a hash, for deterministic variety; not cryptographic. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return value;
}

/** Returns hexadecimal digits that depend only on the text. */
export function hexOf(text: string, digits: number): string {
  let out = "";
  for (let round = 0; out.length < digits; round++) {
    out += hash(`${round}:${text}`).toString(16).padStart(8, "0");
  }
  return out.slice(0, digits);
}
