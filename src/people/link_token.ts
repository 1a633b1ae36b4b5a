import { sha256Hex } from "../base/hash.ts";
import { randomBase62 } from "../base/ids.ts";

/** Returns a token of 256 random bits for a cookie or a link. */
export function newToken(): string {
  return randomBase62(43);
}

/**
 * Returns the hash of a token that is stored and looked up. It is unsalted on purpose: a token has
 * 256 random bits.
 */
export function hashToken(token: string): string {
  return sha256Hex(token);
}
