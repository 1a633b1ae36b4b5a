import type { Clock } from "../base/clock.ts";
import { systemSetTimer } from "../base/deadline.ts";
import type { Connector, ConnectTarget } from "./http1/connect.ts";
import { Http1Connection, type RequestHandler } from "./http1/http1_connection.ts";
import { codeOf, isNotHttp } from "./upstream_failure.ts";

export interface PoolOptions {
  readonly clock: Clock;
  readonly connector: Connector;
  /** Cap on the connections per scheme, host and port; further calls wait. */
  readonly maxPerHost: number;
  /** How long an unused connection is kept; 0: none is used twice. */
  readonly keepMs: number;
  /**
   * How long a connection rests before it carries the next call, so that stray bytes arrive in
   * between.
   */
  readonly settleMs: number;
}

const maxFree = 256;
/** For how long connections to a host aren't kept after it sent bytes outside of an answer. */
const quarantineMs = 60_000;
/**
 * A connection is given up this long before the vendor closes it, so that no request crosses the
 * close.
 */
const closingMs = 2_000;
/** How often connections that have rested for too long are looked for. */
const lookEveryMs = 1_000;

/** The connections to all hosts, one request at a time on each. */
export class ConnectionPool {
  readonly #hosts = new Map<string, Host>();
  #cancelLook: (() => void) | undefined;
  closed = false;

  constructor(readonly options: PoolOptions) {}

  /** Calls `ready` with a connection, at once or later. The returned function cancels that. */
  take(origin: string, ready: (connection: Connection) => void): () => void {
    const host = this.#hosts.get(origin) ?? new Host(origin, this, () => {
      this.#hosts.delete(origin);
    });
    this.#hosts.set(origin, host);
    return host.take(ready);
  }

  /** When one kept connection was closed by the vendor, its siblings probably were too. */
  dropIdle(origin: string): void {
    this.#hosts.get(origin)?.dropIdle();
  }

  close(): void {
    this.closed = true;
    for (const host of [...this.#hosts.values()]) host.close();
    this.#cancelLook?.();
  }

  /**
   * Called when a connection begins to rest. One timer serves all of them, and runs while any rest.
   */
  hasResting(): void {
    if (this.#cancelLook !== undefined) return;
    this.#cancelLook = systemSetTimer(Math.min(this.options.keepMs, lookEveryMs), () => {
      this.#cancelLook = undefined;
      for (const host of [...this.#hosts.values()]) if (host.dropRested()) this.hasResting();
    });
  }
}

class Host {
  readonly #all = new Set<Connection>();
  readonly #free: Connection[] = [];
  readonly #waiting = new Set<(connection: Connection) => void>();
  readonly target: ConnectTarget;
  #distrustedUntilMs = -Infinity;

  constructor(
    readonly origin: string,
    readonly pool: ConnectionPool,
    readonly onEmpty: () => void,
  ) {
    const { protocol, host, hostname, port } = new URL(origin);
    this.target = { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ""), port };
  }

  /** Whether connections may carry another call. */
  get keeps(): boolean {
    const { clock, keepMs } = this.pool.options;
    return keepMs > 0 && !this.pool.closed && clock.monotonicMs() >= this.#distrustedUntilMs;
  }

  take(ready: (connection: Connection) => void): () => void {
    const connection = this.#next();
    if (connection) {
      ready(connection);
      return () => {};
    }
    this.#waiting.add(ready);
    return () => void this.#waiting.delete(ready);
  }

  /** Takes the connection used last, so that surplus ones stay idle and are closed. */
  #next(): Connection | undefined {
    const at = this.#lastUsable();
    if (at >= 0) return this.#free.splice(at, 1)[0]?.taken();
    if (this.#all.size < this.pool.options.maxPerHost) {
      const fresh = new Connection(this);
      this.#all.add(fresh);
      return fresh;
    }
    return this.#free.shift()?.taken();
  }

  /** A plain loop: V8 would compile a callback for `findLastIndex` again and again. */
  #lastUsable(): number {
    const { clock, settleMs } = this.pool.options;
    const nowMs = clock.monotonicMs();
    for (let at = this.#free.length - 1; at >= 0; at--) {
      const { isOpen, freedMs, restsUntilMs } = this.#free[at]!;
      if (isOpen && freedMs <= nowMs - settleMs && restsUntilMs > nowMs) return at;
    }
    return -1;
  }

  freed(connection: Connection): void {
    if (!this.keeps || this.#free.length >= maxFree) return connection.destroy();
    this.#free.push(connection);
    this.pool.hasResting();
    this.#serve();
  }

  /** Closes the connections that have rested long enough; returns whether others are left. */
  dropRested(): boolean {
    const nowMs = this.pool.options.clock.monotonicMs();
    for (const one of [...this.#free]) if (one.restsUntilMs <= nowMs) one.destroy();
    return this.#free.length > 0;
  }

  gone(connection: Connection): void {
    this.#all.delete(connection);
    const at = this.#free.indexOf(connection);
    if (at >= 0) this.#free.splice(at, 1);
    this.#serve();
    const trusted = this.pool.options.clock.monotonicMs() >= this.#distrustedUntilMs;
    if (this.#all.size === 0 && this.#waiting.size === 0 && trusted) this.onEmpty();
  }

  #serve(): void {
    for (const ready of this.#waiting) {
      if (this.pool.closed) return;
      const connection = this.#next();
      if (connection === undefined) return;
      this.#waiting.delete(ready);
      ready(connection);
    }
  }

  /**
   * Called when the host sent bytes outside of an answer. Bytes that come late can't be told from
   * the answer to the next request, so for a while its connections carry no second request.
   */
  quarantine(): void {
    const { clock, keepMs } = this.pool.options;
    if (keepMs === 0) return;
    this.#distrustedUntilMs = clock.monotonicMs() + quarantineMs;
    this.dropIdle();
  }

  dropIdle(): void {
    for (const connection of [...this.#free]) connection.destroy();
  }

  close(): void {
    for (const connection of [...this.#all]) connection.close();
  }
}

/** One connection, lent to one call after the other. */
export class Connection {
  readonly #http: Http1Connection;
  readonly #host: Host;
  #state: "lent" | "free" | "gone" = "lent";
  /** It carried an earlier call, and may have been closed by the other side since. */
  reused = false;
  /** When its last call ended (monotonic ms). */
  freedMs = 0;

  constructor(host: Host) {
    this.#host = host;
    this.#http = new Http1Connection({
      target: host.target,
      connector: host.pool.options.connector,
      gone: (error) => this.destroy(isNotHttp(codeOf(error))),
    });
  }

  get isOpen(): boolean {
    return this.#state !== "gone" && this.#http.isOpen;
  }

  /**
   * Until when it may rest (monotonic ms), at most as long as the vendor says it keeps idle
   * connections.
   */
  get restsUntilMs(): number {
    const { idleSeconds } = this.#http;
    const { keepMs } = this.#host.pool.options;
    const vendorsMs = idleSeconds === undefined ? Infinity : idleSeconds * 1000 - closingMs;
    return this.freedMs + Math.min(keepMs, vendorsMs);
  }

  /** See `AnswerParser.hasBegun`. */
  get hasAnswerBegun(): boolean {
    return this.#http.hasAnswerBegun;
  }

  /** Bytes of a request that the system has not taken yet. */
  get unsentBytes(): number {
    return this.#http.unsentBytes;
  }

  /** See `Http1Connection.onSent`. */
  onSent(run: () => void): void {
    this.#http.onSent(run);
  }

  taken(): this {
    this.#state = "lent";
    this.reused = true;
    return this;
  }

  send(
    request: { path: string; method: string; headers: Readonly<Record<string, string>> },
    body: readonly Uint8Array[] | undefined,
    handler: RequestHandler,
  ): void {
    this.#http.send({ ...request, keeps: this.#host.keeps }, body, handler);
  }

  pause(): void {
    this.#http.pause();
  }

  resume(): void {
    this.#http.resume();
  }

  /** Called when the call has its whole answer. */
  release(): void {
    // Stray bytes that came with the end of the answer are noticed first.
    queueMicrotask(() => {
      if (this.#state !== "lent") return;
      // The answer came before the vendor had the whole request: it may never read the rest.
      const isUsable = this.isOpen && this.#http.keepsOpen && this.unsentBytes === 0;
      if (!isUsable) return this.destroy();
      this.#state = "free";
      this.freedMs = this.#host.pool.options.clock.monotonicMs();
      if (this.restsUntilMs <= this.freedMs) return this.destroy();
      this.#host.freed(this);
    });
  }

  /** Closes it at once; a call under way fails. */
  close(): void {
    this.#http.close();
  }

  /** Closes it at once. `quarantine`: the other side doesn't keep to the protocol. */
  destroy(quarantine = false): void {
    if (this.#state === "gone") return;
    this.#state = "gone";
    this.#http.destroy();
    if (quarantine) this.#host.quarantine();
    this.#host.gone(this);
  }
}
