import type { Clock } from "../base/clock.ts";

/** Who may begin a call while the service can't serve all. */
export interface Admission {
  /** Whether a call must not begin; else it is counted as under way until `ended`. */
  refuses(who: string): boolean;
  ended(who: string): void;
  /** A call, told apart by identity, begins (1) or ends (-1) to wait for its caller or vendor. */
  waits(who: string, call: object, change: 1 | -1): void;
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

/** A call takes a dozen turns of the loop: where it is later than this, too much is worked on. */
const maxLagMs = 150;
/** A busy process that refuses calls is at its limit, and the loop less late for that. */
const restLagMs = 25;
/** The process is taken to be busy for so long after it last was late. */
const busyForMs = 2_000;
/**
 * Who waits for less may wait for us: of an answer that is there a busy process knows nothing until
 * it reads it.
 */
const surelyWaitsMs = 1_000;
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
  #refused = 0;
  #lateMs = -Infinity;
  #refusedBefore = 0;
  /** Calls that began to wait just now, the oldest first. */
  readonly #fresh = new Map<object, { who: string; sinceMs: number }>();
  /** Calls that wait for somebody else. */
  readonly #waits = new Set<object>();

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
    const nowMs = this.#options.clock.monotonicMs();
    this.#settle(nowMs);
    const calls = this.#callers.get(who) ?? { underWay: 0, waiting: 0 };
    if (!this.#mayBegin(calls, this.#isBusy(nowMs))) {
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

  waits(who: string, call: object, change: 1 | -1): void {
    if (change > 0) {
      this.#fresh.set(call, { who, sinceMs: this.#options.clock.monotonicMs() });
      return;
    }
    if (this.#fresh.delete(call)) return;
    if (this.#waits.delete(call)) this.#change(who, "waiting", -1);
  }

  lag(ms: number): void {
    const isRefusing = this.#refused > this.#refusedBefore;
    this.#refusedBefore = this.#refused;
    const nowMs = this.#options.clock.monotonicMs();
    if (ms > maxLagMs || (isRefusing && this.#isBusy(nowMs) && ms > restLagMs)) {
      this.#lateMs = nowMs;
    }
  }

  #mayBegin({ underWay, waiting }: Calls, isBusy: boolean): boolean {
    const { maxUnderWay } = this.#options;
    if (underWay >= (maxUnderWay - this.#underWay) / 3) return false;
    if (!isBusy) return true;
    const atWork = this.#underWay - this.#waits.size;
    return underWay - waiting < (maxAtWork - atWork) / 3;
  }

  #isBusy(nowMs: number): boolean {
    return nowMs - this.#lateMs <= busyForMs;
  }

  /** Those that have waited long surely do. */
  #settle(nowMs: number): void {
    for (const [call, { who, sinceMs }] of this.#fresh) {
      if (nowMs - sinceMs < surelyWaitsMs) return;
      this.#fresh.delete(call);
      this.#waits.add(call);
      this.#change(who, "waiting", 1);
    }
  }

  #change(who: string, what: keyof Calls, by: number): void {
    const calls = this.#callers.get(who) ?? { underWay: 0, waiting: 0 };
    calls[what] += by;
    if (calls.underWay === 0 && calls.waiting === 0) this.#callers.delete(who);
    else this.#callers.set(who, calls);
  }
}
