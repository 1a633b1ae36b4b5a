import type { Clock } from "./clock.ts";
import { type SetTimer, systemSetTimer } from "./deadline.ts";

/** Unused amounts go back to the store after this long without a request. */
export const leaseIdleMs = 5_000;

/**
 * Returns how old a lease is when it's renewed: a fifth of its time, so that the store may be
 * unavailable for the rest.
 */
export function renewAfterMs(leaseMs: number): number {
  return leaseMs / 5;
}

/** Once an operation of the store takes this long, requests that the lease covers wait no longer. */
const longestTurnMs = 500;
/**
 * How often waiting requests are then checked. To check all of them at each request and each end of
 * a call would take time in proportion to the square of their number.
 */
const lookEveryMs = 50;
/** Once an operation of the store takes this long, no request waits for it. */
const overdueMs = 10_000;

const done = Promise.resolve();

interface Waiter<Request, Result> {
  request: Request;
  resolve: (result: Result | Promise<Result>) => void;
  reject: (thrown: unknown) => void;
}

/**
 * Serves the requests of one key (an account) in memory, from what this process has leased.
 * Requests that the lease doesn't cover wait, in order, for the store, and later ones behind them
 * unless the store is slow. One store operation runs at a time. The subclass decides what is leased,
 * how much of it and for how long.
 */
export abstract class LeaseQueue<Request, Result> {
  #waiters: Waiter<Request, Result>[] = [];
  #isBusy = false;
  /** The store has been working on the present operation for `longestTurnMs`. */
  #isSlow = false;
  #working: Promise<void> = Promise.resolve();
  /** Why the last operation of the store failed; undefined if it succeeded. */
  protected failure: unknown;
  /** The process is stopping: nothing is leased ahead of need, and unused amounts go back. */
  protected isClosing = false;

  constructor(
    protected readonly clock: Pick<Clock, "monotonicMs">,
    protected readonly setTimer: SetTimer = systemSetTimer,
  ) {}

  /** Serves from memory, or refuses, at once; undefined if the store has to be asked. */
  protected abstract serve(request: Request): Result | Promise<Result> | undefined;

  /** The next operation of the store, for requests that wait or ahead of need. */
  protected abstract next(): (() => Promise<void>) | undefined;

  /** The error of requests that the store has not answered in time. */
  protected abstract overdue(): unknown;

  /** Whether this key can be forgotten without losing anything. */
  protected abstract get isUnused(): boolean;

  /**
   * Called after a failed operation. Requests that `serve` still can't answer then fail with the
   * same error.
   */
  protected onFailure(_thrown: unknown): void {}

  protected get waiting(): readonly Request[] {
    return this.#waiters.map(({ request }) => request);
  }

  protected get nowMs(): number {
    return this.clock.monotonicMs();
  }

  get isForgettable(): boolean {
    return !this.#isBusy && this.#waiters.length === 0 && this.isUnused;
  }

  async request(request: Request): Promise<Result> {
    // Requests that already wait go first, unless the store is slow.
    const result = this.#waiters.length === 0 || this.#isSlow ? this.serve(request) : undefined;
    if (result !== undefined) {
      void this.work();
      return result;
    }
    return await new Promise((resolve, reject) => {
      this.#waiters.push({ request, resolve, reject });
      void this.work();
    });
  }

  /** Refuses waiting requests that `reason` has an error for. */
  protected refuse(reason: (request: Request) => unknown): void {
    this.#waiters = this.#waiters.filter(({ request, reject }) => {
      const thrown = reason(request);
      if (thrown !== undefined) reject(thrown);
      return thrown === undefined;
    });
  }

  /**
   * Serves waiting requests from memory, then runs store operations until there are none left.
   * Nothing is awaited between the last check and the end of being busy, so no request is missed.
   */
  work(): Promise<void> {
    if (this.#isBusy) return this.#working;
    if (this.#waiters.length > 0) this.serveWaiters();
    const operation = this.next();
    if (!operation) return done;
    this.#isBusy = true;
    return this.#working = this.#run(operation);
  }

  async close(): Promise<void> {
    this.isClosing = true;
    await this.#working;
    await this.work();
  }

  async #run(first: () => Promise<void>): Promise<void> {
    try {
      for (let operation: typeof first | undefined = first; operation; operation = this.next()) {
        await this.#timed(operation);
        this.failure = undefined;
        this.serveWaiters();
      }
    } catch (thrown) {
      this.failure = thrown;
      this.onFailure(thrown);
      this.serveWaiters();
      this.refuse(() => thrown);
    } finally {
      this.#isBusy = false;
    }
  }

  /**
   * Runs an operation. When it has become slow, waiting requests that are covered are served; when
   * it is overdue, the others are refused. A store that is reachable may still not answer, as while
   * a lock is held or no standby acknowledges a commit.
   */
  async #timed(operation: () => Promise<void>): Promise<void> {
    const startMs = this.nowMs;
    const look = () => {
      this.#isSlow = true;
      this.serveWaiters();
      if (this.nowMs - startMs >= overdueMs) this.refuse(() => this.overdue());
      cancel = this.setTimer(lookEveryMs, look);
    };
    let cancel = this.setTimer(longestTurnMs, look);
    try {
      await operation();
    } finally {
      cancel();
      this.#isSlow = false;
    }
  }

  /** Serves waiting requests from memory. */
  protected serveWaiters(): void {
    this.#waiters = this.#waiters.filter(({ request, resolve }) => {
      const result = this.serve(request);
      if (result !== undefined) resolve(result);
      return result === undefined;
    });
  }
}

/** The queues of a process, by key. */
export class LeaseQueues<
  Key,
  Queue extends Pick<LeaseQueue<never, unknown>, "isForgettable" | "close">,
> extends Map<Key, Queue> {
  #isClosing = false;

  of(key: Key, create: () => Queue): Queue {
    const existing = this.get(key);
    if (existing) return existing;
    const queue = create();
    this.set(key, queue);
    if (this.#isClosing) void queue.close();
    return queue;
  }

  forgetUnused(): void {
    for (const [key, queue] of this) if (queue.isForgettable) this.delete(key);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.values()].map((queue) => queue.close()));
  }
}
