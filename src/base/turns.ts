import type { Steps } from "./steps.ts";
import { type Clock, systemClock } from "./clock.ts";

/** Shorter than a call's own work: a call that waits for such a turn at each of its steps loses little. */
const shortMs = 0.2;

/**
 * For work on behalf of many calls that no call waits for, such as a batch of records: with `await
 * turns.pause()` between its parts it blocks the event loop for one short turn at a time. It never
 * queues, unlike `HeavyWork`, which queues one caller's work behind that of other callers.
 */
export class Turns {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #turnMs: number;
  #sinceMs: number;

  constructor(clock: Pick<Clock, "monotonicMs"> = systemClock, turnMs = shortMs) {
    this.#clock = clock;
    this.#turnMs = turnMs;
    this.#sinceMs = clock.monotonicMs();
  }

  /** Lets other work run if this turn is over; undefined while it is not. */
  pause(): Promise<void> | undefined {
    return this.#clock.monotonicMs() - this.#sinceMs < this.#turnMs ? undefined : this.#next();
  }

  /** Runs all steps, with the pauses between them. */
  async finish<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      const pause = this.pause();
      if (pause) await pause;
    }
  }

  async #next(): Promise<void> {
    await turnEnd();
    this.#sinceMs = this.#clock.monotonicMs();
  }
}

/** Resolves once the event loop has handled what has arrived. */
export function turnEnd(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
