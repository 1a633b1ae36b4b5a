import { FakeClock } from "../../src/base/clock.ts";

/** A clock and timers that move only by `advance`. */
export class FakeTimers {
  readonly clock: FakeClock;
  #timers = new Set<{ atMs: number; run: () => void }>();

  constructor(clock = new FakeClock()) {
    this.clock = clock;
  }

  /** Replaces setTimeout: runs once, unless the returned function is called before. */
  readonly later = (ms: number, run: () => void): () => void => {
    const timer = { atMs: this.clock.monotonicMs() + ms, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  };

  /** How many timers are set. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer is due; Infinity when none is set. */
  get nextMs(): number {
    const atMs = Math.min(...[...this.#timers].map((timer) => timer.atMs));
    return atMs - this.clock.monotonicMs();
  }

  /** Lets time pass and runs due timers in order, including timers that are set meanwhile. */
  advance(ms: number): void {
    const endMs = this.clock.monotonicMs() + ms;
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.atMs <= endMs);
      const first = due.sort((a, b) => a.atMs - b.atMs)[0];
      if (first === undefined) break;
      this.#timers.delete(first);
      this.clock.advance(Math.max(0, first.atMs - this.clock.monotonicMs()));
      first.run();
    }
    this.clock.advance(endMs - this.clock.monotonicMs());
  }
}
