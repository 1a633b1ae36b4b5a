import { type Clock, systemClock } from "./clock.ts";
import { type Link, LinkedSet } from "./linked_set.ts";

/** Runs `run` once after `ms`; returns a function that cancels it. Tests pass their own. */
export type SetTimer = (ms: number, run: () => void) => () => void;

/** Timers of `coarseMs` and more fire up to a tenth of a second late; nearly all are cancelled. */
export const systemSetTimer: SetTimer = (ms, run) => {
  if (ms >= coarseMs) return coarseTimers.set(ms, run);
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

const coarseMs = 2_000;

interface Timer {
  readonly atMs: number;
  readonly run: () => void;
}

/**
 * Timers that are checked together every `sweepMs`, so that each costs a fraction of a timer of the
 * runtime.
 */
export class CoarseTimers {
  readonly #sweepMs: number;
  readonly #waiting = new LinkedSet<Timer>();
  #sweep: ReturnType<typeof setTimeout> | undefined;

  constructor(sweepMs: number) {
    this.#sweepMs = sweepMs;
  }

  set(ms: number, run: () => void): () => void {
    const timer = this.#waiting.add({ atMs: systemClock.monotonicMs() + ms, run });
    this.#sweep ??= setTimeout(this.#sweepDue, this.#sweepMs);
    return () => {
      this.#waiting.delete(timer);
      this.#endSweep();
    };
  }

  readonly #sweepDue = (): void => {
    this.#sweep = setTimeout(this.#sweepDue, this.#sweepMs);
    const nowMs = systemClock.monotonicMs();
    const due: Link<Timer>[] = [];
    for (let timer = this.#waiting.first; timer !== undefined; timer = timer.next) {
      if (timer.value.atMs <= nowMs) due.push(timer);
    }
    for (const timer of due) {
      // A timer that has just run may have cancelled others.
      if (!timer.isIn) continue;
      this.#waiting.delete(timer);
      timer.value.run();
    }
    this.#endSweep();
  };

  #endSweep(): void {
    if (this.#waiting.size > 0) return;
    clearTimeout(this.#sweep);
    this.#sweep = undefined;
  }
}

const coarseTimers = new CoarseTimers(100);

/**
 * Returns the result of `work`, or `late` if it takes longer than `ms`. The work then continues,
 * and if it fails later, the error is ignored.
 */
export function within<Result, const Late>(
  ms: number,
  work: Promise<Result>,
  late: Late,
  setTimer: SetTimer = systemSetTimer,
): Promise<Result | Late> {
  const { promise, resolve } = Promise.withResolvers<Late>();
  const cancel = setTimer(ms, () => resolve(late));
  return Promise.race([work, promise]).finally(cancel);
}

/** If a timer fires later than this, the process was too busy to read its sockets. */
const starvedMs = 50;

/**
 * A deadline that can move. Extending it only reads the clock: when the one timer fires, it checks
 * whether the deadline has moved.
 *
 * `isStarvationTolerant`: if the process was busy past the deadline, the awaited data may be there,
 * unread, so the deadline is extended once by the time that the process was late.
 */
export class Deadline {
  #deadlineMs = Infinity;
  #wakeAtMs = Infinity;
  #cancel: (() => void) | undefined;
  #isExtended = false;

  constructor(
    readonly clock: Pick<Clock, "monotonicMs">,
    readonly setTimer: SetTimer,
    readonly onExpire: () => void,
    readonly isStarvationTolerant = false,
  ) {}

  limit(ms: number): void {
    this.#deadlineMs = this.clock.monotonicMs() + ms;
    this.#isExtended = false;
    if (this.#deadlineMs >= this.#wakeAtMs) return;
    this.#cancel?.();
    this.#schedule(ms);
  }

  /** No deadline until the next `limit`. */
  suspend(): void {
    this.#deadlineMs = Infinity;
  }

  stop(): void {
    this.suspend();
    this.#cancel?.();
    this.#cancel = undefined;
    this.#wakeAtMs = Infinity;
  }

  #schedule(ms: number): void {
    this.#wakeAtMs = this.clock.monotonicMs() + ms;
    this.#cancel = this.setTimer(ms, () => this.#wake());
  }

  #wake(): void {
    const nowMs = this.clock.monotonicMs();
    const lateMs = nowMs - this.#wakeAtMs;
    this.#cancel = undefined;
    this.#wakeAtMs = Infinity;
    if (this.#deadlineMs === Infinity) return;
    const leftMs = this.#deadlineMs - nowMs;
    if (leftMs > 0) return this.#schedule(Math.ceil(leftMs));
    if (!this.isStarvationTolerant || lateMs <= starvedMs || this.#isExtended) {
      return this.onExpire();
    }
    this.#isExtended = true;
    this.#deadlineMs = nowMs + lateMs;
    this.#schedule(lateMs);
  }
}

/** `starvationTolerantTimeout` is this many short timers. */
const slices = 20;

/**
 * Runs `run` once after `ms`; returns a function that cancels it. The time is counted in short
 * timers: while the event loop is blocked none of them fires, so data that waits unread in a socket
 * gets its chance before the timeout.
 */
export function starvationTolerantTimeout(
  ms: number,
  run: () => void,
  setTimer: SetTimer = systemSetTimer,
): () => void {
  let left = slices;
  const next = () => setTimer(ms / slices, () => --left > 0 ? cancel = next() : run());
  let cancel = next();
  return () => cancel();
}
