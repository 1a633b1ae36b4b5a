import { Fault } from "../../shared/fault.ts";
import { codeOf, tooManyConnections } from "./faults.ts";

/** What the pool needs to know of a connection. */
export interface Connection {
  /** Makes a session where there is none. Throws when the server can't be reached or refuses. */
  ready(): Promise<void>;
  /** True when it has been given up; it is not used again. */
  readonly gone: boolean;
  /** Ends the session, at the latest after `timeoutMs`. */
  end(timeoutMs: number): Promise<void>;
}

/** After a connection failed no other is tried for so long; who needs one is told at once. */
const awayMs = 200;
/** How long one waits for a connection that others use. */
const waitMs = 5000;
const closeMs = 5000;

/**
 * Connections of one process, each used by one query or transaction at a time. A server that is
 * away is told of quickly, however many wait: the first failure fails everyone who waits.
 */
export class Pool<C extends Connection> {
  readonly #create: () => C;
  readonly #size: number;
  readonly #all = new Set<C>();
  readonly #free: C[] = [];
  readonly #waiting = new Set<PromiseWithResolvers<C>>();
  #away: { thrown: unknown; timer: ReturnType<typeof setTimeout> } | undefined;
  #closing: PromiseWithResolvers<void> | undefined;

  constructor(create: () => C, size: number) {
    this.#create = create;
    this.#size = size;
  }

  /** Lends a connection. Throws `Fault("store_unavailable")` when none comes free in time. */
  async use<T>(work: (connection: C) => Promise<T>): Promise<T> {
    const connection = await this.#take();
    try {
      return await work(connection);
    } finally {
      this.#release(connection);
    }
  }

  /** The server was found to be away: nobody is lent a connection from before. */
  lost(thrown: unknown): void {
    for (const connection of this.#free.splice(0)) this.#drop(connection);
    this.#setAway(thrown);
    this.#failWaiting(thrown);
  }

  /** Lends no more, waits a while for what is lent, and ends all sessions. */
  async close(): Promise<void> {
    if (this.#closing) return await this.#closing.promise;
    this.#closing = Promise.withResolvers();
    this.#failWaiting(closed());
    const timer = setTimeout(this.#closing.resolve, closeMs);
    this.#settleClosing();
    await this.#closing.promise;
    clearTimeout(timer);
    clearTimeout(this.#away?.timer);
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

  /** Undefined when there is one to wait for. */
  #next(): C | undefined {
    if (this.#closing) throw closed();
    const free = this.#free.pop();
    if (free) return free;
    if (this.#away) {
      if (this.#othersServe(this.#away.thrown)) return undefined;
      throw this.#away.thrown;
    }
    return this.#all.size < this.#size ? this.#add() : undefined;
  }

  /** A server that is full still serves through the connections that it has given us. */
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
    const timer = setTimeout(() => {
      this.#waiting.delete(waiter);
      waiter.reject(unavailable("every connection is in use"));
    }, waitMs);
    this.#waiting.add(waiter);
    try {
      return await waiter.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #release(connection: C): void {
    if (connection.gone) this.#drop(connection);
    const [waiter] = this.#waiting;
    if (waiter) {
      this.#waiting.delete(waiter);
      waiter.resolve(connection.gone ? this.#add() : connection);
    } else if (!connection.gone) {
      this.#free.push(connection);
    }
    this.#settleClosing();
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
