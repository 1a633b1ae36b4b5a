import { finish, type Steps } from "./steps.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type SetTimer, systemSetTimer } from "./deadline.ts";

/** Does a piece of work, at once or in its turn. */
export interface Step {
  <T>(job: () => T): Promise<T>;
  /** The same for work that comes in steps. */
  inSteps<T>(job: () => Steps<T>): Promise<T>;
  /** There is much to do, and much memory that it is done on. */
  readonly isHeavy: boolean;
}

/** Who has no heavy work does it at once. */
export const runAtOnce: Step = Object.assign(
  <T>(job: () => T) => new Promise<T>((resolve) => resolve(job())),
  {
    inSteps: <T>(job: () => Steps<T>) => new Promise<T>((resolve) => resolve(finish(job()))),
    isHeavy: false,
  },
);

/** Whoever has does it in turns. */
export function runInTurns(work: HeavyWork, who: HeavyWorker): Step {
  return Object.assign(<T>(job: () => T) => work.run(who, job), {
    inSteps: <T>(job: () => Steps<T>) => work.runSteps(who, job()),
    isHeavy: true,
  });
}

/** Does work that is too much for one go a piece at a time. */
export interface HeavyWork {
  /**
   * Does `job` when it is the turn of `key`: one job at a time, keys in turns, and after each job
   * the event loop is everybody else's for as long as the job took. Rejects with the signal's
   * reason when that fires before, or with what `tooLate` makes when its turn never came.
   */
  run<T>(who: HeavyWorker, job: () => T): Promise<T>;
  /** The same for work that comes in steps: as many of them at a time as are short together. */
  runSteps<T>(who: HeavyWorker, steps: Steps<T>): Promise<T>;
}

export interface HeavyWorker {
  readonly key: string;
  readonly signal?: AbortSignal;
  /** Waits for its turn however long that takes. */
  readonly hasNoTimeout?: boolean;
}

export interface HeavyWorkOptions {
  /** What who has waited for `maxWaitMs` is told. */
  tooLate: () => Error;
  maxWaitMs?: number;
  clock?: Pick<Clock, "monotonicMs">;
  setTimer?: SetTimer;
}

export function createHeavyWork(options: HeavyWorkOptions): HeavyWork {
  return new Turns(options);
}

/** Steps together take about so long: a call of others meets several of them on its way. */
const sliceMs = 8;
/** Even after a long job others wait no longer than that. */
const maxRestMs = 250;

class Turns implements HeavyWork {
  readonly #options: Required<HeavyWorkOptions>;
  /** By key, in the order in which their turn comes. */
  readonly #lines = new Map<string, (() => void)[]>();
  #isBusy = false;

  constructor(options: HeavyWorkOptions) {
    const defaults = { maxWaitMs: 20_000, clock: systemClock, setTimer: systemSetTimer };
    this.#options = { ...defaults, ...options };
  }

  run<T>(who: HeavyWorker, job: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const { signal, key } = who;
    const { setTimer, maxWaitMs, tooLate } = this.#options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const leave = (reason: unknown) => {
      cancel();
      this.#forget(key, turn);
      reject(reason);
    };
    const onAbort = () => leave(signal?.reason);
    const turn = () => {
      cancel();
      signal?.removeEventListener("abort", onAbort);
      try {
        resolve(job());
      } catch (thrown) {
        reject(thrown);
      }
    };
    const cancel = who.hasNoTimeout ? () => {} : setTimer(maxWaitMs, () => {
      signal?.removeEventListener("abort", onAbort);
      leave(tooLate());
    });
    signal?.addEventListener("abort", onAbort, { once: true });
    const line = this.#lines.get(key);
    if (line) line.push(turn);
    else this.#lines.set(key, [turn]);
    if (!this.#isBusy) this.#rest(0);
    return promise;
  }

  async runSteps<T>(who: HeavyWorker, steps: Steps<T>): Promise<T> {
    const { clock } = this.#options;
    for (;;) {
      const step = await this.run(who, () => {
        const begunMs = clock.monotonicMs();
        let step = steps.next();
        while (!step.done && clock.monotonicMs() - begunMs < sliceMs) step = steps.next();
        return step;
      });
      if (step.done) return step.value;
    }
  }

  #forget(key: string, turn: () => void): void {
    const rest = this.#lines.get(key)?.filter((one) => one !== turn) ?? [];
    if (rest.length > 0) this.#lines.set(key, rest);
    else this.#lines.delete(key);
  }

  #rest(ms: number): void {
    this.#isBusy = true;
    this.#options.setTimer(Math.min(ms, maxRestMs), () => this.#next());
  }

  #next(): void {
    const [line] = this.#lines;
    if (!line) {
      this.#isBusy = false;
      return;
    }
    const [key, [turn, ...rest]] = line;
    this.#lines.delete(key);
    // Behind the others, whose turn it is next.
    if (rest.length > 0) this.#lines.set(key, rest);
    const { clock } = this.#options;
    const begunMs = clock.monotonicMs();
    turn?.();
    this.#rest(clock.monotonicMs() - begunMs);
  }
}
