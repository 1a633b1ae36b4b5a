import type { Socket } from "node:net";
import { buildConnector, Client, type Dispatcher } from "undici";
import type { Clock } from "../base/clock.ts";
import { codeOf, isNotHttp } from "./upstream_failure.ts";

/** Opens a connection, TLS included. */
export type Connector = (
  options: buildConnector.Options,
  done: buildConnector.Callback,
) => Socket;

/** What a connection may be told beyond undici's own choice: whom to trust, how to find hosts. */
export function createConnector(options: buildConnector.BuildOptions = {} as never): Connector {
  // HTTP/1.1 only, and no time-out: who waits for the connection has one.
  const connector = buildConnector({ ...options, allowH2: false, timeout: 0 });
  // It returns the socket, which its types don't tell.
  return connector as unknown as Connector;
}

export interface PoolOptions {
  readonly clock: Clock;
  readonly connector: Connector;
  /** Of one scheme, host and port; who comes later waits. */
  readonly maxPerHost: number;
  /** How long a connection is kept that nobody uses; 0: none is used twice. */
  readonly keepMs: number;
  /** How long one rests before it carries the next call, so that stray bytes are met at rest. */
  readonly settleMs: number;
}

const maxFree = 256;
/** How long no connection is kept to a host that sent bytes outside of an answer. */
const quarantineMs = 60_000;
/** As much as a whole head of an answer may have. */
const maxHeadBytes = 16 * 1024;

/**
 * Connections of undici's, each with a parser of its own and one request at a time. Which one a
 * call gets is decided here, since undici's pool neither says whether a call waits for a connection
 * or for the vendor, nor lets a waiting one go, nor drops what is idle.
 */
export class ConnectionPool {
  readonly #hosts = new Map<string, Host>();
  closed = false;

  constructor(readonly options: PoolOptions) {}

  /** Calls `ready`, perhaps at once; the answer takes that back. */
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
  }
}

class Host {
  readonly #all = new Set<Connection>();
  readonly #free: Connection[] = [];
  readonly #waiting = new Set<(connection: Connection) => void>();
  #distrustedUntilMs = -Infinity;

  constructor(
    readonly origin: string,
    readonly pool: ConnectionPool,
    readonly onEmpty: () => void,
  ) {}

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

  /** The one used last: what is needed less and less often falls idle and goes. */
  #next(): Connection | undefined {
    const { clock, settleMs, maxPerHost } = this.pool.options;
    const settledMs = clock.monotonicMs() - settleMs;
    const at = this.#free.findLastIndex((one) => one.isOpen && one.freedMs <= settledMs);
    if (at >= 0) return this.#free.splice(at, 1)[0]?.taken();
    if (this.#all.size < maxPerHost) {
      const fresh = new Connection(this);
      this.#all.add(fresh);
      return fresh;
    }
    return this.#free.shift()?.taken();
  }

  freed(connection: Connection): void {
    if (!this.keeps || this.#free.length >= maxFree) return connection.destroy();
    this.#free.push(connection);
    this.#serve();
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
   * It sent bytes outside of an answer. Some that come late can't be told from the answer to the
   * next request, so for a while there is no next request on its connections.
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
    for (const connection of [...this.#all]) connection.destroy();
  }
}

const continues = new TextEncoder().encode("HTTP/1.1 100");

/** One connection, lent to one call after the other. */
export class Connection {
  readonly #client: Client;
  readonly #host: Host;
  #socket: Socket | undefined;
  #state: "lent" | "free" | "gone" = "lent";
  /** Whether it stood before the present call, and may have been closed by the other side since. */
  reused = false;
  /** A request was sent, and what comes next is the head of an answer. */
  awaitsHead = false;
  /** When its last call ended. */
  freedMs = 0;

  constructor(host: Host) {
    this.#host = host;
    const { connector, keepMs } = host.pool.options;
    this.#client = new Client(host.origin, {
      connect: (options, done) => {
        this.reused = false;
        this.#socket = connector(options, done);
        this.#passOverContinue(this.#socket);
      },
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: maxHeadBytes,
      // The callers' own watches know when it is the vendor who is waited for.
      headersTimeout: 0,
      bodyTimeout: 0,
      ...(keepMs > 0 && { keepAliveTimeout: keepMs, keepAliveMaxTimeout: keepMs }),
    });
    this.#client.on("disconnect", (_origin, _targets, error) => {
      const quarantine = isNotHttp(codeOf(error));
      // One that is lent may be made anew by the client, when nothing has been sent on it.
      if (this.#state === "free") this.destroy(quarantine);
      else if (quarantine) this.#host.quarantine();
    });
  }

  /**
   * undici takes `100 Continue`, which may come unasked (RFC 9110 §15.2), for a broken answer, and
   * passes over other 1xx, so it is shown as one of those.
   */
  #passOverContinue(socket: Socket): void {
    const read = socket.read.bind(socket);
    socket.read = (size?: number) => {
      const bytes: Uint8Array | null = read(size);
      const is100 = this.awaitsHead && bytes !== null &&
        continues.every((byte, at) => byte === bytes[at]);
      if (is100) bytes[continues.length - 1] = "2".charCodeAt(0);
      return bytes;
    };
  }

  get isOpen(): boolean {
    return this.#state !== "gone" && this.#socket?.destroyed === false;
  }

  /** Bytes of a request that the system has not taken yet. */
  get unsentBytes(): number {
    return this.#socket?.writableLength ?? 0;
  }

  /** Runs `run` once when the system has taken everything. */
  onSent(run: () => void): void {
    this.#socket?.once("drain", run);
  }

  taken(): this {
    this.#state = "lent";
    this.reused = true;
    return this;
  }

  send(request: Omit<Dispatcher.DispatchOptions, "origin">, handler: Dispatcher.DispatchHandler) {
    const reset = this.#host.keeps ? {} : { reset: true };
    // Not within a handler of another connection, whose bytes the parser is reading just then.
    queueMicrotask(() => this.#client.dispatch({ ...request, ...reset }, handler));
  }

  /** The call has its whole answer. */
  release(): void {
    // What came with the answer's last bytes and doesn't belong to it is seen first.
    queueMicrotask(() => {
      if (this.#state !== "lent") return;
      // The answer came before the vendor had the whole request: it may never read the rest.
      if (!this.isOpen || this.unsentBytes > 0) return this.destroy();
      this.#state = "free";
      this.freedMs = this.#host.pool.options.clock.monotonicMs();
      this.#host.freed(this);
    });
  }

  /** Closes it at once. `distrust`: the other side doesn't keep to the protocol. */
  destroy(quarantine = false): void {
    if (this.#state === "gone") return;
    this.#state = "gone";
    this.#client.destroy().catch(() => {});
    // One that is still being made is not known to the client.
    this.#socket?.destroy();
    if (quarantine) this.#host.quarantine();
    this.#host.gone(this);
  }
}
