import { sha256Hex } from "../base/hash.ts";

/**
 * Ids inside one answer, derived from the call's own id: asked for in the same order they come out
 * the same, so that the folded answer in the record names what the caller's stream named.
 */
export function answerIds(transactionId: string): (prefix: string) => string {
  const counts = new Map<string, number>();
  return (prefix) => {
    const count = counts.get(prefix) ?? 0;
    counts.set(prefix, count + 1);
    return prefix + sha256Hex(`${transactionId}/${prefix}/${count}`).slice(0, 32);
  };
}
