import { defined } from "../../../../base/defined.ts";
import { parseExactly } from "../../../../base/exact_json.ts";
import { type DialectName, dialectNames } from "../../../../../contracts/calls/vendors.ts";
import type { Opaque } from "../../../kernel/canonical_request.ts";
import { asString, isRecord } from "../../../kernel/json.ts";
import { requestsSeals } from "./stateless.ts";

/**
 * Writes the gateway's envelope. It carries reasoning that a vendor sealed in a translated call in
 * `encrypted_content`, so that the caller sends it back with the conversation: version, dialect,
 * kind, value and item id as base64url JSON after a prefix that no vendor's content starts with. To
 * encrypt it, only these two functions need to change.
 */
export function writeEnvelope(opaque: Opaque): string {
  const { dialect, kind, value, itemId } = opaque;
  return envelopeMark + toBase64Url(JSON.stringify({ version: 1, dialect, kind, value, itemId }));
}

/**
 * Returns what a caller with this request sees of sealed reasoning: an envelope, also of its own
 * dialect's, which another vendor would refuse; that one only if the caller asked for it.
 */
export function sealFor(body: unknown): (opaque: Opaque) => string | undefined {
  const isAsked = requestsSeals(body);
  return (opaque) => opaque.dialect !== "responses" || isAsked ? writeEnvelope(opaque) : undefined;
}

/** Returns sealed reasoning for a record: that of this dialect's vendors as it was. */
export function recordedSeal(opaque: Opaque): string {
  return opaque.dialect === "responses" ? opaque.value : writeEnvelope(opaque);
}

/** Reads an envelope; undefined if the text isn't one, or is damaged. */
export function readEnvelope(text: string): Opaque | undefined {
  if (!isEnvelope(text)) return undefined;
  try {
    const json: unknown = parseExactly(fromBase64Url(text.slice(envelopeMark.length)));
    if (!isRecord(json) || json.version !== 1) return undefined;
    const { dialect, kind, value } = json;
    if (!isDialect(dialect) || typeof kind !== "string" || typeof value !== "string") {
      return undefined;
    }
    const itemId = asString(json.itemId);
    return { dialect, kind, value, ...defined({ itemId }) };
  } catch {
    return undefined;
  }
}

/** Whether a gateway wrote the text. No vendor accepts it. */
export function isEnvelope(text: string): boolean {
  return text.startsWith(envelopeMark);
}

/** The prefix of an envelope, to look for in a request's text without parsing it. */
export const envelopeMark = "gwenv1.";

function isDialect(value: unknown): value is DialectName {
  return dialectNames.some((name) => name === value);
}

function toBase64Url(text: string): string {
  return new TextEncoder().encode(text).toBase64({ alphabet: "base64url", omitPadding: true });
}

/**
 * Decodes the whole text natively: reading it character by character would block all other calls
 * for seconds.
 */
function fromBase64Url(text: string): string {
  const bytes = Uint8Array.fromBase64(text, { alphabet: "base64url" });
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}
