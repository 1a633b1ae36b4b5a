/**
 * Writes each control character as `\u` and its code point, as in JSON. What callers named would
 * otherwise control the terminal of whoever reads it. In JSON text it changes no value.
 */
export function visibleControls(text: string): string {
  return text.replace(
    /\p{Cc}/gu,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
