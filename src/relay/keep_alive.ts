import type { Clock } from "../base/clock.ts";
import { type Later, systemLater, Watch } from "../base/watch.ts";

export interface KeepAliveParts {
  /** After so long without anything for the caller something is sent; 0 is never. */
  afterMs: number;
  clock: Pick<Clock, "monotonicMs">;
  /** Says something that means nothing. */
  say: () => void;
  later?: Later;
}

/**
 * Speaks up while an answer is silent (a model may think for minutes), so that no proxy between
 * the caller and us takes the connection for dead. One timer at most, none once stopped.
 */
export class KeepAlive {
  readonly #parts: KeepAliveParts;
  readonly #watch: Watch;
  #stopped = false;

  constructor(parts: KeepAliveParts) {
    this.#parts = parts;
    this.#watch = new Watch(parts.clock, parts.later ?? systemLater, () => {
      parts.say();
      this.heard();
    });
  }

  /** Something has just been sent, or the answer begins: the silence is counted from here. */
  heard(): void {
    if (!this.#stopped && this.#parts.afterMs > 0) this.#watch.limit(this.#parts.afterMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#watch.stop();
  }
}
