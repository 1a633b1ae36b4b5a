import type { Clock } from "../base/clock.ts";

/** Who may begin a call while the service can't serve all. */
export interface Admission {
  /**
   * Runs `begin`, perhaps once others have ended; false when there is no room for the call. Else it
   * is counted as under way until `ended`, and does not begin any more after that.
   */
  enter(who: string, call: object, begin: () => void): boolean;
  ended(call: object): void;
  /** A call goes on to its next part: it is waited for its caller, or its vendor, or no longer. */
  turned(call: object): void;
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
 * Bounds calls under way and, while the process has more to do than it can, calls that it works on:
 * each of those waits for all others, so that more of them make all calls slower and none more.
 * Beyond those, calls wait in line before anything is made of them, which costs nothing, accounts
 * by turns. An account may have a third of what is then free, a quarter of the whole for one alone
 * and something for whoever comes next.
 */
export function createAdmission(options: AdmissionOptions): Admission {
  return new Gatekeeper(options);
}

/** A call takes a dozen turns of the loop: where it is later than this, too much is worked on. */
const maxLagMs = 100;
/** The process is taken to be busy for so long after it last was late, or had calls in line. */
const busyForMs = 2_000;
/**
 * Calls that are worked on while the process is busy. The runtime (2.9.6) reads from 128 connections
 * in a turn of the loop before it takes a new one: with more at work new callers, health checks
 * among them, wait for seconds.
 */
const maxAtWork = 32;
/** Calls in line. */
const maxInLine = 1_024;
/** A part of a call that takes longer than some turns of the loop waits for somebody else. */
const turns = 4;
const shortestPartMs = 50;
const longestPartMs = 1_000;

interface Call {
  readonly who: string;
  readonly begin: () => void;
  isInLine: boolean;
}

class Gatekeeper implements Admission {
  readonly #options: AdmissionOptions;
  readonly #calls = new Map<object, Call>();
  /** How many each caller has under way. */
  readonly #underWay = new Map<string, number>();
  /** Those in line, by caller, in the order in which callers have their turn. */
  readonly #lines = new Map<string, Set<Call>>();
  #inLine = 0;
  /** When calls came to the part that they are in, the earliest first; not those that wait. */
  readonly #atWork = new Map<object, number>();
  #lagMs = 0;
  #busyUntilMs = -Infinity;
  refused = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  get underWay(): number {
    return this.#calls.size;
  }

  enter(who: string, call: object, begin: () => void): boolean {
    const underWay = this.#underWay.get(who) ?? 0;
    const isFull = underWay >= (this.#options.maxUnderWay - this.#calls.size) / 3;
    const mustWait = this.#inLine > 0 || (this.#isBusy() && !this.#hasRoom());
    const waiting = this.#lines.get(who)?.size ?? 0;
    if (isFull || (mustWait && waiting >= (maxInLine - this.#inLine) / 3)) {
      this.refused++;
      return false;
    }
    const entered = {
      who,
      begin: (): void => {
        entered.isInLine = false;
        this.#atWork.set(call, this.#nowMs());
        begin();
      },
      isInLine: mustWait,
    };
    this.#calls.set(call, entered);
    this.#underWay.set(who, underWay + 1);
    if (mustWait) this.#wait(entered);
    else entered.begin();
    return true;
  }

  ended(call: object): void {
    const ended = this.#calls.get(call);
    if (ended === undefined) return;
    this.#calls.delete(call);
    this.#atWork.delete(call);
    const left = (this.#underWay.get(ended.who) ?? 0) - 1;
    if (left > 0) this.#underWay.set(ended.who, left);
    else this.#underWay.delete(ended.who);
    if (ended.isInLine) this.#leaveLine(ended);
    this.#next();
  }

  turned(call: object): void {
    if (this.#calls.get(call)?.isInLine !== false) return;
    this.#atWork.delete(call);
    this.#atWork.set(call, this.#nowMs());
  }

  lag(ms: number): void {
    this.#lagMs = Math.max(ms, this.#lagMs * 0.8);
    if (ms > maxLagMs || this.#inLine > 0) this.#busyUntilMs = this.#nowMs() + busyForMs;
    this.#next();
  }

  #wait(entered: Call): void {
    const line = this.#lines.get(entered.who) ?? new Set();
    line.add(entered);
    this.#lines.set(entered.who, line);
    this.#inLine++;
  }

  #leaveLine(entered: Call): void {
    const line = this.#lines.get(entered.who);
    if (!line?.delete(entered)) return;
    this.#inLine--;
    if (line.size === 0) this.#lines.delete(entered.who);
  }

  /** Calls in line begin, one of each caller by turns, as far as there is room. */
  #next(): void {
    while (this.#inLine > 0 && this.#hasRoom()) {
      const [who, line] = this.#lines.entries().next().value!;
      const [first] = line;
      this.#leaveLine(first!);
      if (line.size > 0) {
        this.#lines.delete(who);
        this.#lines.set(who, line);
      }
      first!.begin();
    }
  }

  #hasRoom(): boolean {
    const partMs = Math.max(shortestPartMs, Math.min(longestPartMs, turns * this.#lagMs));
    const sinceMs = this.#nowMs() - partMs;
    for (const [call, atMs] of this.#atWork) {
      if (atMs >= sinceMs) break;
      this.#atWork.delete(call);
    }
    return this.#atWork.size < maxAtWork;
  }

  #isBusy(): boolean {
    return this.#nowMs() <= this.#busyUntilMs;
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}
