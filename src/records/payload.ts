import { ownText } from "../base/own_text.ts";
import { finish, type Steps } from "../base/steps.ts";
import type { CredentialField } from "../dialects/kernel/credential_field.ts";
import type { MediaField } from "../dialects/kernel/media_field.ts";
import type { Media } from "../shared/media.ts";
import { externalizeMediaSteps } from "./externalize_media.ts";
import { maskCredentialsSteps } from "./mask_credentials.ts";

/** How much of a payload is recorded, and which of its fields hold media or credentials. */
export interface PayloadLimits {
  /** `PAYLOAD_MAX_BYTES`. */
  maxBytes: number;
  /** `MEDIA_INLINE_BYTES`. */
  inlineBytes: number;
  fields: readonly MediaField[];
  credentials: readonly CredentialField[];
}

export function payloadLimits(
  { payloadMaxBytes, mediaInlineBytes }: { payloadMaxBytes: number; mediaInlineBytes: number },
  { mediaFields, credentialFields = [] }: {
    mediaFields: readonly MediaField[];
    credentialFields?: readonly CredentialField[];
  },
): PayloadLimits {
  return {
    maxBytes: payloadMaxBytes,
    inlineBytes: mediaInlineBytes,
    fields: mediaFields,
    credentials: credentialFields,
  };
}

/** A payload that is ready for the journal and the store. */
export interface BoundPayload {
  text: string;
  truncated: boolean;
  /** Media that was taken out of the text. */
  media: readonly Media[];
}

export function capPayload(text: string, maxBytes: number): { text: string; truncated: boolean } {
  // A UTF-16 unit takes at most three bytes: most payloads need no count.
  if (text.length * 3 <= maxBytes) return { text, truncated: false };
  const target = new Uint8Array(maxBytes);
  const { read } = new TextEncoder().encodeInto(text, target);
  return read === text.length
    ? { text, truncated: false }
    : { text: ownText(text, read), truncated: true };
}

/** Longer payloads have their media taken out at once. */
const largeUnits = 256 * 1024;

/**
 * Prepares a payload for journal and store: masks its credentials, and gives a large one its stored
 * form at once; otherwise megabytes of base64 would be copied for the journal, the queue and the
 * store. Smaller payloads have their media taken out when they are stored (`storePayloads`).
 */
export function boundPayload(text: string, limits: PayloadLimits): BoundPayload {
  return finish(boundPayloadSteps(text, limits));
}

export function* boundPayloadSteps(sent: string, limits: PayloadLimits): Steps<BoundPayload> {
  const { maxBytes, inlineBytes, fields, credentials } = limits;
  const text = yield* maskCredentialsSteps(sent, credentials);
  if (text.length <= largeUnits && text.length * 3 <= maxBytes) {
    return { text, truncated: false, media: [] };
  }
  return yield* storedPayload(text, { maxBytes, inlineBytes, fields });
}

/** Takes large media out of a payload, and cuts the rest to its limit; idempotent. */
export function* storedPayload(
  text: string,
  { maxBytes, inlineBytes, fields }: Omit<PayloadLimits, "credentials">,
): Steps<BoundPayload> {
  const { text: left, media } = yield* externalizeMediaSteps(text, { inlineBytes, fields });
  return { ...capPayload(left, maxBytes), media };
}
