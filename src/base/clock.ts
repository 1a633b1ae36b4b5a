/** The only access to the clock; tests pass their own. */
export interface Clock {
  /** Wall time, for what people read. */
  now(): Date;
  /** Monotonic milliseconds, for durations. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};

/** A clock that only `advance` moves. */
export class FakeClock implements Clock {
  #nowMs: number;
  constructor(start = new Date("2026-11-21T00:00:00Z")) {
    this.#nowMs = start.getTime();
  }
  now(): Date {
    return new Date(this.#nowMs);
  }
  monotonicMs(): number {
    return this.#nowMs;
  }
  advance(ms: number): void {
    this.#nowMs += ms;
  }
}
