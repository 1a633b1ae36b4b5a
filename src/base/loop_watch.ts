import { type Clock, systemClock } from "./clock.ts";
import { type SetTimer, systemSetTimer } from "./deadline.ts";

/**
 * Detects a blocked event loop. Work is noted when it starts (`begins`); if the loop was blocked, the
 * longest-running work is reported. Work is not timed otherwise.
 */
export interface LoopWatch<Work> {
  /** `work` runs from now on, until other work is noted. */
  begins(work: Work): void;
  stop(): void;
}

export interface LoopWatchOptions<Work> {
  /** Called at each check with how late it was. */
  lag: (ms: number) => void;
  /** Called when the loop was blocked, with the work that blocked it, if known. */
  blocked: (ms: number, work: Work | undefined) => void;
  clock?: Pick<Clock, "monotonicMs">;
  setTimer?: SetTimer;
}

export function createLoopWatch<Work>(options: LoopWatchOptions<Work>): LoopWatch<Work> {
  return new Watching(options);
}

const lookMs = 50;
/** Longer lag counts as blocked. */
const blockedMs = 200;
/** Work remembered between two checks; with more, none can have run for long. */
const maxMarks = 1024;

class Watching<Work> implements LoopWatch<Work> {
  readonly #options: LoopWatchOptions<Work>;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #setTimer: SetTimer;
  #marks: { atMs: number; work: Work }[] = [];
  #lookedMs: number;
  #cancel: () => void;

  constructor(options: LoopWatchOptions<Work>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#setTimer = options.setTimer ?? systemSetTimer;
    this.#lookedMs = this.#clock.monotonicMs();
    this.#cancel = this.#setTimer(lookMs, () => this.#look());
  }

  begins(work: Work): void {
    if (this.#marks.length >= maxMarks) this.#marks.splice(0, maxMarks / 2);
    this.#marks.push({ atMs: this.#clock.monotonicMs(), work });
  }

  stop(): void {
    this.#cancel();
  }

  #look(): void {
    const nowMs = this.#clock.monotonicMs();
    const lateMs = Math.max(0, nowMs - this.#lookedMs - lookMs);
    if (lateMs >= blockedMs) this.#options.blocked(lateMs, this.#longest(nowMs));
    this.#options.lag(lateMs);
    this.#marks = [];
    this.#lookedMs = this.#clock.monotonicMs();
    this.#cancel = this.#setTimer(lookMs, () => this.#look());
  }

  /** The longest-running work since the last check, if long enough to have blocked the loop. */
  #longest(nowMs: number): Work | undefined {
    let longest: Work | undefined;
    let longestMs = blockedMs / 2;
    this.#marks.forEach(({ atMs, work }, index) => {
      const ms = (this.#marks[index + 1]?.atMs ?? nowMs) - atMs;
      if (ms > longestMs) [longest, longestMs] = [work, ms];
    });
    return longest;
  }
}
