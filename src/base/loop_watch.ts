import { type Clock, systemClock } from "./clock.ts";
import { type SetTimer, systemSetTimer } from "./deadline.ts";

/**
 * Looks whether the event loop turns. Whoever begins a piece of work notes it (`begins`), and when
 * the loop was blocked, what ran longest meanwhile is named: no work is timed while all is well.
 */
export interface LoopWatch<Work> {
  /** `work` runs from now on, until something else is noted. */
  begins(work: Work): void;
  stop(): void;
}

export interface LoopWatchOptions<Work> {
  /** Told with each look how late it came. */
  lag: (ms: number) => void;
  /** The loop was blocked; what did it, where that is known. */
  blocked: (ms: number, work: Work | undefined) => void;
  clock?: Pick<Clock, "monotonicMs">;
  setTimer?: SetTimer;
}

export function createLoopWatch<Work>(options: LoopWatchOptions<Work>): LoopWatch<Work> {
  return new Watching(options);
}

const lookMs = 50;
/** A loop that stood for longer was blocked. */
const blockedMs = 200;
/** Work that is remembered between two looks; of more none can have run for long. */
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

  /** What ran longest since the last look, if it can have been that which blocked. */
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
