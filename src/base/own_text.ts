/**
 * Texts for something that outlives the text that they are part of. A part that V8's `slice` or a
 * regular expression returns refers to the whole text, and keeps that in memory. In copies, halves
 * of surrogate pairs become U+FFFD.
 */

/** Returns a text's first `units` UTF-16 units, as a copy if it has more. */
export function ownText(text: string, units: number): string {
  return text.length <= units ? text : copyOf(text.slice(0, units));
}

/** Returns a name as paths and messages show it: a caller may choose one of megabytes. */
export function shownName(name: string): string {
  return ownText(name, 100);
}

/** Copies a text that may be part of a longer one. */
export function copyOf(text: string): string {
  return decoder.decode(encoder.encode(text));
}

const encoder = new TextEncoder();
// Without this, a text that begins with U+FEFF would lose it.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
