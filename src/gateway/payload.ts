import { longStrings } from "../base/json_strings.ts";
import { isMediaField, type MediaField } from "../dialects/media_field.ts";

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

/** Inline media of fewer units makes no payload too large. */
const smallMediaUnits = 4096;

/**
 * A payload on its way to the store, where media is taken out before what is left is cut
 * (`storePayloads`): text with media in it stays whole, other text is cut at once.
 */
export function boundPayload(
  text: string,
  maxBytes: number,
  fields: readonly MediaField[],
): { text: string; truncated: boolean } {
  if (text.length * 3 <= maxBytes) return { text, truncated: false };
  for (const place of longStrings(text, smallMediaUnits)) {
    if (fields.some((field) => isMediaField(field, place))) return { text, truncated: false };
  }
  return capPayload(text, maxBytes);
}
