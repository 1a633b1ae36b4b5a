import type { Clock } from "../base/clock.ts";
import { evictOldest } from "../base/evict_oldest.ts";

export interface FailureLimit {
  /** Whether the address has used up the failures that it may have. */
  isReached(address: string): boolean;
  /**
   * Counts a failure. If it was one too many, returns the seconds until the next may be made; else
   * 0.
   */
  fail(address: string): number;
}

/** Max addresses remembered; beyond it those that failed longest ago are forgotten. */
const maxAddresses = 20_000;

/**
 * Limits failures by a token bucket for each address, in the memory of one process. An address that
 * hasn't failed for long enough has a full bucket again, so forgetting one loses little.
 * `burst`: max failures at once.
 */
export function createFailureLimit(
  clock: Pick<Clock, "monotonicMs">,
  { burst, perSecond }: { burst: number; perSecond: number },
): FailureLimit {
  const buckets = new Map<string, { tokens: number; atMs: number }>();
  const tokensOf = (address: string) => {
    const bucket = buckets.get(address);
    if (!bucket) return burst;
    const seconds = (clock.monotonicMs() - bucket.atMs) / 1000;
    return Math.min(burst, bucket.tokens + seconds * perSecond);
  };
  return {
    isReached: (address) => tokensOf(addressKey(address)) < 1,
    fail(address) {
      const key = addressKey(address);
      const tokens = tokensOf(key);
      // Set again, so that it is the latest in the map's order.
      buckets.delete(key);
      const isOver = tokens < 1;
      buckets.set(key, { tokens: isOver ? tokens : tokens - 1, atMs: clock.monotonicMs() });
      evictOldest(buckets, maxAddresses);
      return isOver ? Math.max(1, Math.ceil((1 - tokens) / perSecond)) : 0;
    },
  };
}

/**
 * Returns the key under which an address is counted. An IPv6 network of 64 bits has one key, since
 * a single customer has all its addresses. All texts from proxies that aren't addresses share one
 * key.
 */
export function addressKey(address: string): string {
  const host = address.trim().toLowerCase().replace(/^\[(.*)\](:\d{1,5})?$/, "$1");
  const [, v4] = /^(?:::ffff:)?(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?$/.exec(host) ?? [];
  if (v4 !== undefined) return v4;
  return networkOf(host) ?? "other";
}

/** The first four groups of an IPv6 address; undefined for any other text. */
function networkOf(host: string): string | undefined {
  if (host.length > 64 || !/^[\da-f:]+(%\w+)?$/.test(host) || !host.includes(":")) return undefined;
  const [front = "", back = ""] = host.split("%", 1)[0]!.split("::");
  const [head, tail] = [front.split(":"), back.split(":")];
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => "0");
  const all = [...head, ...zeros, ...tail];
  return all.slice(0, 4).map((group) => parseInt(group || "0", 16).toString(16)).join(":") +
    "::/64";
}
