import { finish, type Steps } from "./steps.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type SetTimer, systemSetTimer } from "./deadline.ts";

/** Runs a piece of work, at once or in its turn. */
export interface Step {
  <T>(job: () => T): Promise<T>;
  /** The same for work that comes in steps. */
  inSteps<T>(job: () => Steps<T>): Promise<T>;
  /** Whether the work is heavy, and so runs in turns. */
  readonly isHeavy: boolean;
}

/** For light work: runs it at once. */
export const runAtOnce: Step = Object.assign(atOnce, {
  inSteps: <T>(job: () => Steps<T>) => atOnce(() => finish(job())),
  isHeavy: false,
});

/** Runs a dozen times per call. An async function takes a fifth of the time of `new Promise`. */
async function atOnce<T>(job: () => T | Promise<T>): Promise<T> {
  const made = job();
  return made instanceof Promise ? await made : made;
}

/** For heavy work: runs it in turns. */
export function runInTurns(work: HeavyWork, who: HeavyWorker): Step {
  return Object.assign(<T>(job: () => T) => work.run(who, job), {
    inSteps: <T>(job: () => Steps<T>) => work.runSteps(who, job()),
    isHeavy: true,
  });
}

export interface HeavyWorker {
  readonly key: string;
  readonly signal?: AbortSignal;
  /** Waits for its turn however long it takes, without `maxWaitMs`. */
  readonly hasNoTimeout?: boolean;
}

export interface HeavyWorkOptions {
  /** Makes the error thrown after `maxWaitMs`. */
  tooLate: () => Error;
  maxWaitMs?: number;
  clock?: Pick<Clock, "monotonicMs">;
  setTimer?: SetTimer;
}

export function createHeavyWork(options: HeavyWorkOptions): HeavyWork {
  return new HeavyWork(options);
}

/** Duration of a turn; short, since another call may have to wait for several turns. */
const sliceMs = 8;
/** Longest pause after a job. */
const maxRestMs = 250;

/** Schedules work that would block the event loop for too long. */
export class HeavyWork {
  readonly #options: Required<HeavyWorkOptions>;
  /** By key, in round-robin order. */
  readonly #lines = new Map<string, (() => void)[]>();
  #isBusy = false;

  constructor(options: HeavyWorkOptions) {
    const defaults = { maxWaitMs: 20_000, clock: systemClock, setTimer: systemSetTimer };
    this.#options = { ...defaults, ...options };
  }

  /**
   * Runs `job` when it is the key's turn: one job at a time, keys round-robin, and after each job a
   * pause as long as the job took. Rejects with the signal's reason if that fires first, or with the
   * error of `tooLate` after `maxWaitMs`.
   */
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

  /** The same for work in steps; each turn runs steps for a few milliseconds. */
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
    // The key goes to the end of the round.
    if (rest.length > 0) this.#lines.set(key, rest);
    const { clock } = this.#options;
    const begunMs = clock.monotonicMs();
    turn?.();
    this.#rest(clock.monotonicMs() - begunMs);
  }
}
