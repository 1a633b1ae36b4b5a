// Apart from the forwarder so that its timing is tested without a stream.
import type { Clock } from "../base/clock.ts";
import { Deadline, type SetTimer, systemSetTimer } from "../base/deadline.ts";

export interface KeepAliveDeps {
  /** After so long without anything for the caller something is sent; 0 is never. */
  afterMs: number;
  clock: Pick<Clock, "monotonicMs">;
  /** Says something that means nothing. */
  send: () => void;
  setTimer?: SetTimer;
}

/**
 * Speaks up while an answer is silent (a model may think for minutes), so that no proxy between
 * the caller and us takes the connection for dead. One timer at most, none once stopped.
 */
export class KeepAlive {
  readonly #deps: KeepAliveDeps;
  readonly #deadline: Deadline;
  #stopped = false;

  constructor(deps: KeepAliveDeps) {
    this.#deps = deps;
    this.#deadline = new Deadline(deps.clock, deps.setTimer ?? systemSetTimer, () => {
      deps.send();
      this.reset();
    });
  }

  /** Something has just been sent, or the answer begins: the silence is counted from here. */
  reset(): void {
    if (!this.#stopped && this.#deps.afterMs > 0) this.#deadline.limit(this.#deps.afterMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#deadline.stop();
  }
}
