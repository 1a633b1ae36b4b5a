/**
 * Returns the first `units` UTF-16 units of a text, for something that outlives it. V8's `slice`
 * refers to the whole text, which then stays in memory; this one is a copy. Halves of surrogate
 * pairs become U+FFFD.
 */
export function ownText(text: string, units: number): string {
  return text.length <= units ? text : decoder.decode(encoder.encode(text.slice(0, units)));
}

const encoder = new TextEncoder();
// Without this, a text that begins with U+FEFF would lose it.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
