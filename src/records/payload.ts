import { finish, type Steps } from "../base/steps.ts";
import type { MediaField } from "../dialects/kernel/media_field.ts";
import type { Media } from "../shared/media.ts";
import { externalizeMediaSteps } from "./externalize_media.ts";

/** How much of a payload the record keeps, and where media stands in it. */
export interface PayloadLimits {
  /** `PAYLOAD_MAX_BYTES`. */
  maxBytes: number;
  /** `MEDIA_INLINE_BYTES`. */
  inlineBytes: number;
  fields: readonly MediaField[];
}

export function payloadLimits(
  { payloadMaxBytes, mediaInlineBytes }: { payloadMaxBytes: number; mediaInlineBytes: number },
  { mediaFields }: { mediaFields: readonly MediaField[] },
): PayloadLimits {
  return { maxBytes: payloadMaxBytes, inlineBytes: mediaInlineBytes, fields: mediaFields };
}

/** A payload on its way to the store. */
export interface BoundPayload {
  text: string;
  truncated: boolean;
  /** What was taken out of the text. */
  media: readonly Media[];
}

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

/** Payloads of more units give up their media at once. */
const largeUnits = 256 * 1024;

/**
 * A payload on its way to journal and store. A large one is brought into its stored form at once:
 * megabytes of base64 would else be copied for the journal, for the queue and for the store. The
 * media of others is taken out when the store takes them (`storePayloads`).
 */
export function boundPayload(text: string, limits: PayloadLimits): BoundPayload {
  return finish(boundPayloadSteps(text, limits));
}

/** The same in steps. */
export function* boundPayloadSteps(text: string, limits: PayloadLimits): Steps<BoundPayload> {
  const { maxBytes, inlineBytes, fields } = limits;
  if (text.length <= largeUnits && text.length * 3 <= maxBytes) {
    return { text, truncated: false, media: [] };
  }
  const { text: left, media } = yield* externalizeMediaSteps(text, { inlineBytes, fields });
  return { ...capPayload(left, maxBytes), media };
}
