import type { Clock } from "../../src/base/clock.ts";
import { RateLimiter } from "../../src/rate_limits/rate_limiter.ts";
import { Fault } from "../../src/shared/fault.ts";
import {
  type Bucket,
  fullBucket,
  type Heartbeat,
  leaseFrom,
} from "../../src/rate_limits/rate_bucket.ts";
import type { RateLimits, RateStore } from "../../src/rate_limits/rate_limit.ts";

/** How the next calls of a store end. */
export type StoreMood = "there" | "away" | "write_lost" | "answer_lost";

/** A bucket in memory that follows the same rules as the one in the database. */
export class MemoryBucket {
  bucket: Bucket | undefined;
  heard: Heartbeat = {};
  constructor(public limits: RateLimits, readonly nowMs: () => number) {}

  /** Returns the store as one process sees it. */
  store(mood: () => StoreMood): RateStore {
    const reach = () =>
      mood() === "away" ? Promise.reject(new Fault("store_unavailable")) : Promise.resolve();
    const write = async <T>(act: () => T): Promise<T> => {
      await reach();
      if (mood() === "write_lost") throw new Fault("store_unavailable");
      const result = act();
      if (mood() === "answer_lost") throw new Fault("store_unavailable");
      return result;
    };
    return {
      reach,
      lease: (_id, request) =>
        write(() => {
          const before = this.bucket ?? fullBucket(this.limits, this.nowMs());
          const { bucket, answer } = leaseFrom(
            before,
            request,
            this.limits,
            this.nowMs(),
            this.heard,
          );
          this.bucket = bucket;
          return answer;
        }),
      beat: (process) =>
        write(() => {
          this.heard = { ...this.heard, [process]: this.nowMs() };
        }),
      isShared: () => Promise.reject(new Error("of real stores alone")),
      leave: (ownNames) =>
        write(() => {
          const others = Object.entries(this.heard).filter(([name]) => !name.startsWith(ownNames));
          this.heard = Object.fromEntries(others);
        }),
    };
  }
}

/** Starts a process: a rate limiter with its own clock. */
export function startProcess(
  name: string,
  store: RateStore,
  clock: Clock,
  leaseMs = 150_000,
  start = name,
): { name: string; limiter: RateLimiter } {
  let ids = 0;
  const limiter = new RateLimiter({
    store,
    clock,
    newId: () => `${start}-${++ids}`,
    leaseMs,
    processId: name,
    pause: () => Promise.resolve(),
  });
  return { name, limiter };
}
