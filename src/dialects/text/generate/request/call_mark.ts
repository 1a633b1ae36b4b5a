import { shortKey } from "../../../../base/hash.ts";

/**
 * Clients of this dialect may drop a call's id, which Google doesn't need, but they send its
 * signature back. So a call of another vendor carries its id as its signature, and the reasoning
 * before the call can be found by it.
 */
const prefix = "call-id:";

export function callMark(id: string): string {
  return new TextEncoder().encode(prefix + id).toBase64();
}

/**
 * The id in a mark, or its hash if it is long; undefined for a vendor's own signature. Clients may
 * change the alphabet.
 */
export function markedCallId(signature: string): string | undefined {
  if (!signature.startsWith(markStart)) return undefined;
  try {
    const standard = signature.replaceAll("-", "+").replaceAll("_", "/");
    const text = new TextDecoder().decode(Uint8Array.fromBase64(standard));
    return text.startsWith(prefix) ? shortKey(text.slice(prefix.length)) : undefined;
  } catch {
    return undefined;
  }
}

/** The part of a mark that the id doesn't change: whole groups of three bytes. */
const markStart = callMark("").slice(0, 8);
