import { type SetTimer, within } from "../base/deadline.ts";
import type { Log } from "../base/log.ts";
import { orLeft } from "../base/or_left.ts";
import { isStoreAway } from "../shared/fault.ts";
import type { SelectableCall } from "../shared/interaction.ts";
import type {
  CachedAnswer,
  CachedAnswerStore,
  CacheQuery,
  StoredCachedAnswer,
} from "./cached_answer.ts";

export type CacheFinding =
  | { readonly state: "hit"; readonly answer: StoredCachedAnswer }
  /** The call asks the vendor, and reports the outcome to `fill`. */
  | { readonly state: "miss"; readonly fill: CacheFill }
  /** The caller left while it waited. */
  | { readonly state: "left" };

/** How a call that asked the vendor reports its outcome, once; further reports do nothing. */
export interface CacheFill {
  /** It was answered in full. The answer is stored in the background. */
  store(call: SelectableCall, answer: CachedAnswer): void;
  /**
   * It was answered, but the answer can't be stored: calls that wait all ask the vendor now,
   * without waiting for each other.
   */
  skip(): void;
  /** It failed, or its caller left: one of the calls that wait asks the vendor. */
  abandon(): void;
}

export interface ResponseCacheDeps {
  store: CachedAnswerStore;
  /** Whether a call was erased while it was under way. */
  isErased: (call: SelectableCall) => boolean;
  setTimer: SetTimer;
  log: Pick<Log, "error" | "warn">;
}

/** How long a call waits for the store before it goes on without it. */
const longestReadMs = 2000;
/** How long a locked answer may keep the process from ending. */
const longestDrainMs = 5000;
/** An account is trimmed once this much was written for it, and by the background job. */
const trimBytes = 32 * 1024 * 1024;
const trimAnswers = 1000;

/** The outcome of a call that asked the vendor, for the calls that wait for its answer. */
type FlightEnd =
  /** Its answer is in the store, unless that could not be reached. */
  | { readonly state: "answered"; readonly call: SelectableCall; readonly answer: CachedAnswer }
  | { readonly state: "skipped" }
  | { readonly state: "abandoned" };

/** A call that asks the vendor while equal ones wait. */
class Flight {
  readonly #ended = Promise.withResolvers<void>();
  result: FlightEnd | undefined;

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  end(result: FlightEnd): void {
    this.result = result;
    this.#ended.resolve();
  }
}

interface Read {
  answer?: StoredCachedAnswer;
  /** An answer was stored meanwhile. */
  isStale?: boolean;
  /** The store could not be read in time. */
  isAway?: boolean;
}

/** Reads of one key that are under way. */
interface Reads {
  count: number;
  /** An answer was stored after they began. */
  isStale: boolean;
}

/** Answers of earlier calls, for equal calls of the same account (docs/calling.md). */
export class ResponseCache {
  readonly #deps: ResponseCacheDeps;
  readonly #flights = new Map<string, Flight>();
  readonly #reads = new Map<string, Reads>();
  /** Written for an account since it was last trimmed. */
  readonly #written = new Map<number, { bytes: number; answers: number }>();
  readonly #writing = new Set<Promise<void>>();

  constructor(deps: ResponseCacheDeps) {
    this.#deps = deps;
  }

  /**
   * Finds the answer to a call. Of concurrent equal calls one misses and asks the vendor; the
   * others wait for its answer, and if there is none, one of them misses in its place. While the
   * store can't be reached nothing is found.
   */
  async find(query: CacheQuery): Promise<CacheFinding> {
    while (!query.signal.aborted) {
      const end = await this.#awaitFlight(query);
      if (end?.state === "skipped") return { state: "miss", fill: unsharedFill };
      // Each caller reads for itself: an answer that was read before an erasure must not be given
      // to someone who came after it.
      const read = await this.#read(query);
      if (read.answer) return { state: "hit", answer: read.answer };
      if (read.isAway && end?.state === "answered" && !this.#deps.isErased(end.call)) {
        return { state: "hit", answer: { ...end.answer, ageSeconds: 0 } };
      }
      if (read.isStale || this.#flights.has(query.key) || query.signal.aborted) continue;
      return { state: "miss", fill: this.#begin(query) };
    }
    return { state: "left" };
  }

  /** Removes the answers that a call of the account made. */
  async forget(accountId: number, transactionId: string): Promise<void> {
    await this.#deps.store.remove(accountId, transactionId);
  }

  /** Removes expired answers, and those beyond the limits of an account; a background job. */
  async sweep(): Promise<void> {
    await this.#deps.store.sweep();
    for (const accountId of [...this.#written.keys()]) await this.#trim(accountId);
  }

  /** Waits until nothing is being written, at most five seconds; for the end of the process. */
  async drain(): Promise<void> {
    await within(longestDrainMs, this.#allWritten(), undefined, this.#deps.setTimer);
  }

  async #allWritten(): Promise<void> {
    while (this.#writing.size > 0) await Promise.all(this.#writing);
  }

  /** Waits for an equal call under way and returns its outcome; undefined if there is none. */
  async #awaitFlight({ key, signal }: CacheQuery): Promise<FlightEnd | undefined> {
    const flight = this.#flights.get(key);
    if (flight) await orLeft(flight.ended, signal);
    return flight?.result;
  }

  async #read(query: CacheQuery): Promise<Read> {
    const { key } = query;
    const reads = this.#reads.get(key) ?? { count: 0, isStale: false };
    this.#reads.set(key, reads);
    reads.count++;
    try {
      const { store, setTimer } = this.#deps;
      const answer = await within(longestReadMs, store.find(query), "late", setTimer);
      if (answer === "late") return { isStale: reads.isStale, isAway: true };
      return answer ? { answer } : { isStale: reads.isStale };
    } catch (thrown) {
      if (!isStoreAway(thrown)) this.#warn("the response cache could not be read", thrown);
      return { isAway: true };
    } finally {
      reads.count--;
      if (reads.count === 0 && this.#reads.get(key) === reads) this.#reads.delete(key);
    }
  }

  #begin(query: CacheQuery): CacheFill {
    const flight = new Flight();
    this.#flights.set(query.key, flight);
    let isOver = false;
    const finish = (act: () => void) => {
      if (!isOver) act();
      isOver = true;
    };
    const end = (result: FlightEnd) => {
      this.#flights.delete(query.key);
      flight.end(result);
    };
    return {
      store: (call, answer) =>
        finish(() => void this.#inBackground(this.#save(query, call, answer).then(end))),
      skip: () => finish(() => end({ state: "skipped" })),
      abandon: () => finish(() => end({ state: "abandoned" })),
    };
  }

  /** Never rejects. */
  async #save(query: CacheQuery, call: SelectableCall, answer: CachedAnswer): Promise<FlightEnd> {
    try {
      if (!await this.#deps.store.put(query, call, answer)) return { state: "abandoned" };
      const reads = this.#reads.get(query.key);
      if (reads) reads.isStale = true;
      this.#reads.delete(query.key);
      this.#count(query.accountId, answer);
      return { state: "answered", call, answer };
    } catch (thrown) {
      if (isStoreAway(thrown)) return { state: "answered", call, answer };
      this.#warn("an answer could not be stored in the response cache", thrown);
      return { state: "abandoned" };
    }
  }

  #count(accountId: number, { body, record }: CachedAnswer): void {
    const written = this.#written.get(accountId) ?? { bytes: 0, answers: 0 };
    written.bytes += body.length + (record?.length ?? 0);
    written.answers++;
    this.#written.set(accountId, written);
    if (written.bytes < trimBytes && written.answers < trimAnswers) return;
    void this.#inBackground(
      this.#trim(accountId).catch((thrown) =>
        this.#warn("the response cache could not be trimmed", thrown)
      ),
    );
  }

  async #trim(accountId: number): Promise<void> {
    this.#written.delete(accountId);
    await this.#deps.store.trim(accountId);
  }

  /** Logs only the error's kind: its message may quote an answer. */
  #warn(message: string, thrown: unknown): void {
    const reason = thrown instanceof Error ? thrown.name : typeof thrown;
    this.#deps.log.warn(message, { reason });
  }

  #inBackground(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => this.#writing.delete(tracked));
    this.#writing.add(tracked);
    return tracked;
  }
}

/** For a call that no other call waits for. */
const unsharedFill: CacheFill = { store() {}, skip() {}, abandon() {} };
