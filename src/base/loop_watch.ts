import { type Clock, systemClock } from "./clock.ts";
import { type SetTimer, systemSetTimer } from "./deadline.ts";

export interface LoopWatchOptions<Work> {
  /** Called at each check with how late the check was. */
  lag: (ms: number) => void;
  /** Called when the loop was blocked, with the work that blocked it, if known. */
  blocked: (ms: number, work: Work | undefined) => void;
  clock?: Pick<Clock, "monotonicMs">;
  setTimer?: SetTimer;
}

export function createLoopWatch<Work>(options: LoopWatchOptions<Work>): LoopWatch<Work> {
  return new LoopWatch(options);
}

const checkMs = 50;
/** Longer lag counts as blocked. */
const blockedMs = 200;
/** Shorter work isn't reported as what blocked the loop. */
const minMs = blockedMs / 2;

/**
 * Detects a blocked event loop. Work is noted when it starts (`begins`); if the loop was blocked, the
 * longest-running work is reported. Work is not timed otherwise.
 */
export class LoopWatch<Work> {
  readonly #options: LoopWatchOptions<Work>;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #setTimer: SetTimer;
  /**
   * The work that runs now, and since when. Finished work is forgotten, except for the longest,
   * since work is large.
   */
  #current: Work | undefined;
  #sinceMs = 0;
  /** The work that ran longest since the last check. */
  #longest: Work | undefined;
  #longestMs = minMs;
  #checkedMs: number;
  #cancel: () => void;

  constructor(options: LoopWatchOptions<Work>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#setTimer = options.setTimer ?? systemSetTimer;
    this.#checkedMs = this.#clock.monotonicMs();
    this.#cancel = this.#setTimer(checkMs, () => this.#check());
  }

  /** `work` runs from now on, until other work is noted. */
  begin(work: Work): void {
    this.#ends();
    this.#current = work;
    this.#sinceMs = this.#clock.monotonicMs();
  }

  stop(): void {
    this.#cancel();
  }

  #check(): void {
    this.#ends();
    const nowMs = this.#clock.monotonicMs();
    const lateMs = Math.max(0, nowMs - this.#checkedMs - checkMs);
    if (lateMs >= blockedMs) this.#options.blocked(lateMs, this.#longest);
    this.#options.lag(lateMs);
    this.#longest = undefined;
    this.#longestMs = minMs;
    this.#checkedMs = this.#clock.monotonicMs();
    this.#cancel = this.#setTimer(checkMs, () => this.#check());
  }

  #ends(): void {
    if (this.#current === undefined) return;
    const ms = this.#clock.monotonicMs() - this.#sinceMs;
    if (ms > this.#longestMs) [this.#longest, this.#longestMs] = [this.#current, ms];
    this.#current = undefined;
  }
}
