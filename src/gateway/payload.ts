/**
 * A payload as the record keeps it: at most `maxBytes` of UTF-8, cut between characters.
 */
export function capPayload(text: string, maxBytes: number): { text: string; truncated: boolean } {
  // No text has more than three bytes a UTF-16 unit: the usual payload needs no count.
  if (text.length * 3 <= maxBytes) return { text, truncated: false };
  const target = new Uint8Array(maxBytes);
  const { read } = new TextEncoder().encodeInto(text, target);
  return read === text.length
    ? { text, truncated: false }
    : { text: text.slice(0, read), truncated: true };
}
