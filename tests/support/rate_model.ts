import assert from "@std/assert";
import type { Clock } from "../../src/base/clock.ts";
import { type RateLimits, unitsPerToken } from "../../src/rate_limits/rate_limit.ts";

/** A single token bucket that sees every admission: the limit that the service must not exceed. */
export class IdealBucket {
  #units: number;
  #atMs: number;
  /** Units that processes had leased when the tier changed, and may still spend once. */
  #leftOver = 0;

  constructor(public limits: RateLimits, atMs: number) {
    this.#units = limits.burst * unitsPerToken;
    this.#atMs = atMs;
  }

  units(atMs: number): number {
    const refill = Math.max(0, atMs - this.#atMs) * this.limits.requestsPerMinute;
    this.#atMs = Math.max(atMs, this.#atMs);
    this.#units = Math.min(this.limits.burst * unitsPerToken, this.#units + refill);
    return this.#units;
  }

  admit(atMs: number, history: () => string): void {
    if (this.units(atMs) < unitsPerToken && this.#leftOver >= unitsPerToken) {
      this.#leftOver -= unitsPerToken;
      return;
    }
    this.#units -= unitsPerToken;
    assert.ok(this.#units >= 0, `admitted beyond the limit\n${history()}`);
  }

  changeTier(limits: RateLimits, heldUnits: number, atMs: number): void {
    this.units(atMs);
    this.limits = limits;
    this.#leftOver += heldUnits;
    this.#units = limits.burst * unitsPerToken;
  }
}

/** Monotonic time that all processes share, with a wall clock per process that can jump. */
export class SharedTime {
  ms = 1_000_000;
  /** Returns the clock of one process; `jump` moves only its wall clock. */
  clock(): Clock & { jump(ms: number): void } {
    let offsetMs = 1_700_000_000_000;
    return {
      now: () => new Date(this.ms + offsetMs),
      monotonicMs: () => this.ms,
      jump: (ms) => void (offsetMs += ms),
    };
  }
}
