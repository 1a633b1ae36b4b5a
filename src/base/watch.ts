import type { Clock } from "./clock.ts";

/** Runs `run` once after `ms`; the answer takes it back. Tests give their own. */
export type Later = (ms: number, run: () => void) => () => void;

export const systemLater: Later = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

/**
 * A deadline that moves. Moving it later costs a reading of the clock and no timer: the one timer
 * looks, when it fires, whether the deadline has moved meanwhile.
 */
export class Watch {
  #deadlineMs = Infinity;
  #wakeAtMs = Infinity;
  #cancel: (() => void) | undefined;

  constructor(
    readonly clock: Pick<Clock, "monotonicMs">,
    readonly later: Later,
    readonly onExpire: () => void,
  ) {}

  /** The deadline is `ms` from now, whatever it was. */
  limit(ms: number): void {
    this.#deadlineMs = this.clock.monotonicMs() + ms;
    if (this.#deadlineMs >= this.#wakeAtMs) return;
    this.#cancel?.();
    this.#schedule(ms);
  }

  /** No deadline until the next `limit`. */
  suspend(): void {
    this.#deadlineMs = Infinity;
  }

  /** No deadline and no timer. */
  stop(): void {
    this.suspend();
    this.#cancel?.();
    this.#cancel = undefined;
    this.#wakeAtMs = Infinity;
  }

  #schedule(ms: number): void {
    this.#wakeAtMs = this.clock.monotonicMs() + ms;
    this.#cancel = this.later(ms, () => this.#wake());
  }

  #wake(): void {
    this.#cancel = undefined;
    this.#wakeAtMs = Infinity;
    if (this.#deadlineMs === Infinity) return;
    const leftMs = this.#deadlineMs - this.clock.monotonicMs();
    if (leftMs > 0) this.#schedule(Math.ceil(leftMs));
    else this.onExpire();
  }
}
