import { asText } from "./json.ts";
import { hexOf } from "./tokens.ts";

/**
 * Creates an opaque value that callers send back: a thinking signature, a thought signature or
 * encrypted reasoning. It holds a digest of what it was issued for, so nothing has to be stored.
 */
export function seal(kind: string, content: string): string {
  return btoa(`${kind}.${hexOf(`${kind}\u0000${content}`, 64)}.simulated`);
}

/** Whether the value is the seal that was issued for this content, unmodified. */
export function isSealOf(value: unknown, kind: string, content: string): boolean {
  return asText(value) === seal(kind, content);
}
