/**
 * Writes each control character, line separator and control of the text's direction as `\u` and its
 * code point, as in JSON. What callers named would otherwise control the terminal of whoever reads
 * it, begin a line of its own, or turn the text behind it around. In JSON text it changes no value.
 */
export function visibleControls(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
