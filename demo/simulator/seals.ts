import { asText } from "./json.ts";
import { hexOf } from "./tokens.ts";

/**
 * Opaque values that come back: thinking signatures, thought signatures, encrypted reasoning. A seal
 * proves itself, so nothing has to be remembered: it holds a digest of what it was issued for.
 */
export function seal(kind: string, content: string): string {
  return btoa(`${kind}.${hexOf(`${kind}\u0000${content}`, 64)}.simulated`);
}

/** Whether the value is the seal that was issued for this content, unmodified. */
export function isSealOf(value: unknown, kind: string, content: string): boolean {
  return asText(value) === seal(kind, content);
}
