import type { Clock } from "../base/clock.ts";

/** Who may begin a call while the service can't serve all. */
export interface Admission {
  /** Whether a call must not begin; else it is counted as under way until `ended`. */
  refuses(who: string): boolean;
  ended(who: string): void;
  /** A call begins (1) or ends (-1) to wait for its caller's body or for its vendor. */
  waits(who: string, change: 1 | -1): void;
  /** How late the event loop was just now; to be told some twenty times a second. */
  lag(ms: number): void;
  /** Calls under way. */
  readonly underWay: number;
  /** Calls that were refused so far. */
  readonly refused: number;
}

export interface AdmissionOptions {
  /** Calls under way at once; one account has a quarter of what the others leave. */
  maxUnderWay: number;
  clock: Pick<Clock, "monotonicMs">;
}

/**
 * Bounds calls under way and, while the process has more to do than it can, calls that it works on
 * itself: each of those waits for all before it, so that more of them make all calls slower and
 * none more. An account may have a third of what is then free, a quarter of the whole for one alone
 * and something for whoever comes next.
 */
export function createAdmission(options: AdmissionOptions): Admission {
  return new Gatekeeper(options);
}

/** Calls wait about as long as the loop is late: beyond this the process has too much to do. */
const maxLagMs = 400;
/** The process is taken to be busy for so long after it last was late. */
const busyForMs = 2_000;
/** Calls that are worked on, that is, wait for nobody else, while the process is busy. */
const maxAtWork = 1_024;

interface Calls {
  underWay: number;
  waiting: number;
}

class Gatekeeper implements Admission {
  readonly #options: AdmissionOptions;
  readonly #callers = new Map<string, Calls>();
  #underWay = 0;
  #waiting = 0;
  #refused = 0;
  #lateMs = -Infinity;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  get underWay(): number {
    return this.#underWay;
  }

  get refused(): number {
    return this.#refused;
  }

  refuses(who: string): boolean {
    const calls = this.#callers.get(who) ?? { underWay: 0, waiting: 0 };
    if (!this.#mayBegin(calls)) {
      this.#refused++;
      return true;
    }
    calls.underWay++;
    this.#underWay++;
    this.#callers.set(who, calls);
    return false;
  }

  ended(who: string): void {
    this.#underWay--;
    this.#change(who, "underWay", -1);
  }

  waits(who: string, change: 1 | -1): void {
    this.#waiting += change;
    this.#change(who, "waiting", change);
  }

  lag(ms: number): void {
    if (ms > maxLagMs) this.#lateMs = this.#options.clock.monotonicMs();
  }

  #mayBegin({ underWay, waiting }: Calls): boolean {
    const { maxUnderWay, clock } = this.#options;
    if (underWay >= (maxUnderWay - this.#underWay) / 3) return false;
    if (clock.monotonicMs() - this.#lateMs > busyForMs) return true;
    const atWork = this.#underWay - this.#waiting;
    return underWay - waiting < (maxAtWork - atWork) / 3;
  }

  #change(who: string, what: keyof Calls, by: number): void {
    const calls = this.#callers.get(who) ?? { underWay: 0, waiting: 0 };
    calls[what] += by;
    if (calls.underWay === 0 && calls.waiting === 0) this.#callers.delete(who);
    else this.#callers.set(who, calls);
  }
}
