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

/** Whether the value is a seal of this kind, whatever it was issued for. */
export function isSealOfKind(value: string, kind: string): boolean {
  try {
    return new RegExp(`^${kind}\\.[0-9a-f]{64}\\.simulated$`).test(atob(value));
  } catch {
    return false;
  }
}
