import { sha256Hex } from "../base/hash.ts";
import { randomBase62 } from "../base/ids.ts";

/** A token of 256 random bits for a cookie or a link. */
export function newToken(): string {
  return randomBase62(43);
}

/** What is stored of a token. Unsalted on purpose: it has 256 random bits and is looked up by it. */
export function hashToken(token: string): string {
  return sha256Hex(token);
}
