import type { Clock } from "../base/clock.ts";
import { Deadline, type SetTimer, systemSetTimer } from "../base/deadline.ts";

interface KeepAliveDeps {
  /** A keep-alive is sent when the caller was sent nothing for this long; 0: never. */
  afterMs: number;
  clock: Pick<Clock, "monotonicMs">;
  /** Sends a keep-alive. */
  send: () => void;
  setTimer?: SetTimer;
}

/**
 * Sends keep-alives while an answer is silent (a model may think for minutes), so that no proxy on
 * the way closes the connection. At most one timer; none once stopped.
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

  /** Counts the silence from now: something was just sent, or the answer begins. */
  reset(): void {
    if (!this.#stopped && this.#deps.afterMs > 0) this.#deadline.limit(this.#deps.afterMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#deadline.stop();
  }
}
