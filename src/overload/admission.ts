import type { Clock } from "../base/clock.ts";
import { type Link, LinkedSet } from "../base/linked_set.ts";
import { Pace } from "./pace.ts";

/** The call was refused. */
export interface Overloaded {
  /** Estimate of when all calls in line before it will have had their turn. */
  readonly retryAfterSeconds: number;
}

export interface AdmissionOptions {
  /** Max calls under way at once; one account may have a quarter of what the others leave. */
  maxUnderWay: number;
  clock: Pick<Clock, "monotonicMs">;
}

/**
 * A call takes a dozen turns of the event loop: if the loop is later than this, too many calls are
 * being worked on.
 */
const maxLagMs = 100;
/** The process counts as busy for this long after its loop was late or it had calls in line. */
const busyForMs = 2_000;
/**
 * Max calls that are worked on while the process is busy. Each turn of the loop works on all of
 * them, and a new request, such as a health check, waits for two or three turns.
 */
const maxAtWork = 32;
/** Callers would rather wait this long than retry. */
const longestWaitMs = 4_000;
/** Longest advised wait: a longer one is no more use to a caller than retrying now. */
const longestRetrySeconds = 60;
/**
 * A part of a call that lasts longer than this many turns of the loop, within the bounds below, is
 * waiting for a caller or a vendor.
 */
const turns = 4;
const shortestPartMs = 50;
const longestPartMs = 1_000;

interface Call {
  readonly who: string;
  readonly begin: () => void;
  isInLine: boolean;
  /** Its entry among the calls that are worked on. */
  atWork: Link<AtWork> | undefined;
}

interface AtWork {
  readonly call: Call;
  /** When the call entered its current part. */
  readonly sinceMs: number;
}

/**
 * Decides which calls may begin. Limits the calls under way and, while the process is overloaded,
 * the calls that it works on at once: each of these waits for all others, so more of them would
 * make every call slower without completing more. Further calls wait in line before any work is
 * done for them, accounts taking turns, as long as the pace of the last seconds promises each its
 * turn soon. An account may have under way a third of what then remains free: a quarter of the
 * whole if it is alone, and always something for the next account.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #calls = new WeakMap<object, Call>();
  #size = 0;
  readonly #underWay = new Map<string, number>();
  /** Calls in line by caller, in round-robin order. */
  readonly #lines = new Map<string, Set<Call>>();
  #inLine = 0;
  readonly #pace: Pace;
  /** In the order in which they entered their current part; without those that wait. */
  readonly #atWork = new LinkedSet<AtWork>();
  #lagMs = 0;
  #busyUntilMs = -Infinity;
  /** Calls that were refused so far. */
  refused = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#pace = new Pace(options.clock);
  }

  get underWay(): number {
    return this.#size;
  }

  /** Estimate of the calls that get their turn per second; never 0. */
  get pacePerSecond(): number {
    return this.#pace.perSecond;
  }

  /**
   * Runs `begin`, at once or after other calls. The call counts as under way until `ended`, after
   * which it no longer begins. If there is no room for it, returns when to retry.
   */
  enter(who: string, call: object, begin: () => void): Overloaded | undefined {
    const underWay = this.#underWay.get(who) ?? 0;
    const isFull = underWay >= (this.#options.maxUnderWay - this.#size) / 3;
    const mustWait = this.#inLine > 0 || (this.#isBusy() && !this.#hasRoom());
    const waitMs = mustWait ? this.#promisedMs(who) : 0;
    if (isFull || waitMs > longestWaitMs) {
      this.refused++;
      const seconds = Math.min(longestRetrySeconds, Math.ceil(waitMs / 1000));
      return { retryAfterSeconds: Math.max(1, seconds) };
    }
    const entered: Call = {
      who,
      begin: (): void => {
        entered.isInLine = false;
        this.#works(entered);
        begin();
      },
      isInLine: mustWait,
      atWork: undefined,
    };
    this.#calls.set(call, entered);
    this.#size++;
    this.#underWay.set(who, underWay + 1);
    if (mustWait) this.#wait(entered);
    else entered.begin();
    return undefined;
  }

  ended(call: object): void {
    const ended = this.#calls.get(call);
    if (ended === undefined) return;
    this.#calls.delete(call);
    this.#size--;
    this.#works(ended, false);
    const left = (this.#underWay.get(ended.who) ?? 0) - 1;
    if (left > 0) this.#underWay.set(ended.who, left);
    else this.#underWay.delete(ended.who);
    if (ended.isInLine) this.#leaveLine(ended);
    else this.#pace.ended();
    this.#next();
  }

  /** The call enters its next part: it starts or stops waiting for its caller or its vendor. */
  turned(call: object): void {
    const entered = this.#calls.get(call);
    if (entered?.isInLine === false) this.#works(entered);
  }

  /** The call is worked on from now on, or no longer. */
  #works(call: Call, isAtWork = true): void {
    if (call.atWork !== undefined) this.#atWork.delete(call.atWork);
    call.atWork = isAtWork ? this.#atWork.add({ call, sinceMs: this.#nowMs() }) : undefined;
  }

  /** Reports how late the event loop was just now; to be called some twenty times a second. */
  lag(ms: number): void {
    this.#lagMs = Math.max(ms, this.#lagMs * 0.8);
    if (ms > maxLagMs || this.#inLine > 0) this.#busyUntilMs = this.#nowMs() + busyForMs;
    this.#next();
  }

  /** Estimates how long one more call of this caller would wait in line; callers take turns. */
  #promisedMs(who: string): number {
    const own = (this.#lines.get(who)?.size ?? 0) + 1;
    const callers = this.#lines.size + (own === 1 ? 1 : 0);
    const before = Math.min(this.#inLine + 1, own * callers);
    return before / this.#pace.perSecond * 1000;
  }

  #wait(entered: Call): void {
    const line = this.#lines.get(entered.who) ?? new Set();
    line.add(entered);
    this.#lines.set(entered.who, line);
    this.#inLine++;
    this.#pace.waits(true);
  }

  #leaveLine(entered: Call): void {
    const line = this.#lines.get(entered.who);
    if (!line?.delete(entered)) return;
    this.#inLine--;
    if (line.size === 0) this.#lines.delete(entered.who);
    if (this.#inLine === 0) this.#pace.waits(false);
  }

  /** Begins calls in line while there is room, callers taking turns. */
  #next(): void {
    while (this.#inLine > 0 && this.#hasRoom()) {
      const [who, line] = this.#lines.entries().next().value!;
      const [first] = line;
      this.#pace.turn();
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
    for (let first = this.#atWork.first; first !== undefined; first = this.#atWork.first) {
      if (first.value.sinceMs >= sinceMs) break;
      this.#works(first.value.call, false);
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
