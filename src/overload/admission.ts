import type { Clock } from "../base/clock.ts";
import { type Link, LinkedSet } from "../base/linked_set.ts";
import { Pace } from "./pace.ts";

/** Who may begin a call while the service can't serve all. */
export interface Admission {
  /**
   * Runs `begin`, perhaps once others have ended: the call is counted as under way until `ended`,
   * and does not begin any more after that. Gives when to come again where there is no room for it.
   */
  enter(who: string, call: object, begin: () => void): Overloaded | undefined;
  ended(call: object): void;
  /** A call goes on to its next part: it is waited for its caller, or its vendor, or no longer. */
  turned(call: object): void;
  /** How late the event loop was just now; to be told some twenty times a second. */
  lag(ms: number): void;
  readonly underWay: number;
  /** Calls that come to their turn in a second, as far as can be told; never 0. */
  readonly pacePerSecond: number;
  /** Calls that were refused so far. */
  readonly refused: number;
}

/** The call was not taken in. */
export interface Overloaded {
  /** When those have had their turn who stand in line before it, as far as can be told. */
  readonly retryAfterSeconds: number;
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
 * by turns, as long as the pace of the last seconds promises each its turn soon. Of all that may be
 * under way, an account may have a third of what is then free, a quarter of the whole for one alone
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
 * Calls that are worked on while the process is busy. A turn of the loop works on all of them, and
 * whoever is new, a health check for one, waits for two or three turns.
 */
const maxAtWork = 32;
/** Callers rather wait for so long than come again. */
const longestWaitMs = 4_000;
/** Who is told to come again later than this may as well come now. */
const longestRetrySeconds = 60;
/** A part of a call that takes longer than some turns of the loop waits for somebody else. */
const turns = 4;
const shortestPartMs = 50;
const longestPartMs = 1_000;

interface Call {
  readonly who: string;
  readonly begin: () => void;
  isInLine: boolean;
  /** Its place among those that are worked on. */
  atWork: Link<AtWork> | undefined;
}

interface AtWork {
  readonly call: Call;
  /** When it came to the part that it is in. */
  readonly sinceMs: number;
}

class Gatekeeper implements Admission {
  readonly #options: AdmissionOptions;
  readonly #calls = new WeakMap<object, Call>();
  #size = 0;
  readonly #underWay = new Map<string, number>();
  /** Those in line, by caller, in the order in which callers have their turn. */
  readonly #lines = new Map<string, Set<Call>>();
  #inLine = 0;
  readonly #pace: Pace;
  /** In the order in which they came to the part that they are in; not those that wait. */
  readonly #atWork = new LinkedSet<AtWork>();
  #lagMs = 0;
  #busyUntilMs = -Infinity;
  refused = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#pace = new Pace(options.clock);
  }

  get underWay(): number {
    return this.#size;
  }

  get pacePerSecond(): number {
    return this.#pace.perSecond;
  }

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

  turned(call: object): void {
    const entered = this.#calls.get(call);
    if (entered?.isInLine === false) this.#works(entered);
  }

  /** The call is worked on from now on, or no longer. */
  #works(call: Call, isAtWork = true): void {
    if (call.atWork !== undefined) this.#atWork.delete(call.atWork);
    call.atWork = isAtWork ? this.#atWork.add({ call, sinceMs: this.#nowMs() }) : undefined;
  }

  lag(ms: number): void {
    this.#lagMs = Math.max(ms, this.#lagMs * 0.8);
    if (ms > maxLagMs || this.#inLine > 0) this.#busyUntilMs = this.#nowMs() + busyForMs;
    this.#next();
  }

  /** How long one more call of this caller would stand in line: callers take turns. */
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

  /** Calls in line begin, one of each caller by turns, as far as there is room. */
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
