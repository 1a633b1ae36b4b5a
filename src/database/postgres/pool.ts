import { starvationTolerantTimeout } from "../../base/deadline.ts";
import { Fault } from "../../shared/fault.ts";
import { codeOf, tooManyConnections } from "./faults.ts";

export interface Connection {
  /** Opens a session if there is none. Throws if the server is unreachable or refuses. */
  ready(): Promise<void>;
  /** The session has ended and must not be used again. */
  readonly gone: boolean;
  /** Ends the session, at the latest after `timeoutMs`. */
  end(timeoutMs: number): Promise<void>;
}

/** After a failed connection attempt, requests fail at once for this long. */
const awayMs = 200;
/** How long a close waits for lent connections: the process's stop has waited for its work before. */
const closeMs = 2000;
/**
 * How long a caller waits for a lent connection before another is opened. To open one takes longer
 * than most queries, and the server plans its first queries with empty caches.
 */
const growMs = 10;

/**
 * The connections of one process, each used by one query or transaction at a time. An outage is
 * reported quickly, however many wait: the first failure fails all waiters.
 */
export class Pool<C extends Connection> {
  readonly #create: () => C;
  readonly #size: number;
  readonly #waitMs: number;
  readonly #unusedMs: number;
  readonly #all = new Set<C>();
  /** The last one is lent first. */
  readonly #free: C[] = [];
  /** How many of `#free`, from its start, have been lent to nobody since the last sweep. */
  #unused = 0;
  #sweep: ReturnType<typeof setTimeout> | undefined;
  /** Connections that were lent at a `renew`, and are not lent again. */
  readonly #outdated = new WeakSet<C>();
  readonly #waiting = new Set<PromiseWithResolvers<C>>();
  #away: { thrown: unknown; timer: ReturnType<typeof setTimeout> } | undefined;
  #closing: PromiseWithResolvers<void> | undefined;

  /**
   * `waitMs`: how long a caller waits for one of `size` connections. `unusedMs`: a connection that
   * is not used for once or twice as long is ended.
   */
  constructor(
    create: () => C,
    { size, waitMs, unusedMs }: { size: number; waitMs: number; unusedMs: number },
  ) {
    this.#create = create;
    this.#size = size;
    this.#waitMs = waitMs;
    this.#unusedMs = unusedMs;
  }

  /** Lends a connection. Throws `Fault("store_unavailable")` if none is free in time. */
  async use<T>(work: (connection: C) => Promise<T>): Promise<T> {
    const connection = await this.#take();
    try {
      return await work(connection);
    } finally {
      this.#release(connection);
    }
  }

  /** The server was found unreachable, or is the wrong one: requests fail at once for a while. */
  lost(thrown: unknown): void {
    this.renew();
    this.#setAway(thrown);
    this.#failWaiting(thrown);
  }

  /** Older connections are not lent again. */
  renew(): void {
    for (const connection of this.#all) this.#outdated.add(connection);
    this.#dropFree(this.#free.length);
  }

  /** Stops lending, waits a while for lent connections, and ends all sessions. */
  async close(): Promise<void> {
    if (this.#closing) return await this.#closing.promise;
    this.#closing = Promise.withResolvers();
    this.#failWaiting(closed());
    const timer = setTimeout(this.#closing.resolve, closeMs);
    this.#settleClosing();
    await this.#closing.promise;
    clearTimeout(timer);
    clearTimeout(this.#away?.timer);
    clearTimeout(this.#sweep);
    await Promise.all([...this.#all].map((connection) => connection.end(1000)));
  }

  async #take(): Promise<C> {
    let connection = this.#next() ?? await this.#wait();
    for (;;) {
      try {
        await connection.ready();
        return connection;
      } catch (thrown) {
        this.#drop(connection);
        this.#setAway(thrown);
        if (!this.#othersServe(thrown)) {
          this.#failWaiting(thrown);
          throw thrown;
        }
        connection = await this.#wait();
      }
    }
  }

  /** Returns a connection; undefined if the caller has to wait for one. */
  #next(): C | undefined {
    if (this.#closing) throw closed();
    const free = this.#free.pop();
    this.#unused = Math.min(this.#unused, this.#free.length);
    if (free) return free;
    if (this.#away) {
      if (this.#othersServe(this.#away.thrown)) return undefined;
      throw this.#away.thrown;
    }
    return this.#all.size === 0 ? this.#add() : undefined;
  }

  /** A full server still serves the connections that we already have. */
  #othersServe(thrown: unknown): boolean {
    return codeOf(thrown) === tooManyConnections && this.#all.size > 0;
  }

  #add(): C {
    const connection = this.#create();
    this.#all.add(connection);
    return connection;
  }

  async #wait(): Promise<C> {
    const waiter = Promise.withResolvers<C>();
    const cancel = starvationTolerantTimeout(this.#waitMs, () => {
      this.#waiting.delete(waiter);
      waiter.reject(unavailable("every connection is in use"));
    });
    this.#waiting.add(waiter);
    const growing = setTimeout(() => this.#grow(waiter), growMs);
    try {
      return await waiter.promise;
    } finally {
      clearTimeout(growing);
      cancel();
    }
  }

  /** Opens another connection for a caller that still waits, unless there are enough. */
  #grow(waiter: PromiseWithResolvers<C>): void {
    if (this.#all.size >= this.#size || this.#away || !this.#waiting.delete(waiter)) return;
    waiter.resolve(this.#add());
  }

  #release(connection: C): void {
    const isUsable = !connection.gone && !this.#outdated.has(connection);
    if (!isUsable) this.#drop(connection);
    const [waiter] = this.#waiting;
    if (waiter) {
      this.#waiting.delete(waiter);
      waiter.resolve(isUsable ? connection : this.#add());
    } else if (isUsable) {
      this.#free.push(connection);
      if (!this.#closing) this.#sweep ??= setTimeout(() => this.#endUnused(), this.#unusedMs);
    }
    this.#settleClosing();
  }

  /**
   * Ends connections that nobody needs. Here and not by the driver's idle timeout, which would end a
   * session at the moment when it is lent.
   */
  #endUnused(): void {
    this.#dropFree(this.#unused);
    this.#unused = this.#free.length;
    this.#sweep = this.#unused === 0
      ? undefined
      : setTimeout(() => this.#endUnused(), this.#unusedMs);
  }

  #dropFree(count: number): void {
    for (const connection of this.#free.splice(0, count)) this.#drop(connection);
    this.#unused = Math.min(this.#unused, this.#free.length);
  }

  #drop(connection: C): void {
    this.#all.delete(connection);
    connection.end(0).catch(() => {});
    this.#settleClosing();
  }

  #settleClosing(): void {
    if (this.#free.length === this.#all.size) this.#closing?.resolve();
  }

  #setAway(thrown: unknown): void {
    clearTimeout(this.#away?.timer);
    const timer = setTimeout(() => this.#away = undefined, awayMs);
    this.#away = { thrown, timer };
  }

  #failWaiting(thrown: unknown): void {
    for (const waiter of this.#waiting) waiter.reject(thrown);
    this.#waiting.clear();
  }
}

function closed(): Fault {
  return unavailable("the pool is closed");
}

function unavailable(note: string): Fault {
  return new Fault("store_unavailable", { note: `PostgreSQL: ${note}` });
}
