import type { Clock } from "../base/clock.ts";
import { Deadline, type SetTimer } from "../base/deadline.ts";
import {
  AttemptFailure,
  failureOf,
  isNotHttp,
  type Progress,
  timeoutFailure,
  UpstreamAborted,
} from "./upstream_failure.ts";
import { NotHttp } from "./http1/answer_parser.ts";
import type { RequestHandler } from "./http1/http1_connection.ts";
import type { Connection, ConnectionPool } from "./upstream_pool.ts";

/** The request of one try; its body is encoded once for all tries. */
export interface AttemptRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: readonly Uint8Array[] | undefined;
  readonly signal: AbortSignal;
}

export interface AttemptDeps {
  readonly clock: Clock;
  readonly setTimer: SetTimer;
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly connections: ConnectionPool;
}

/** Receives an answer's body. Exactly one of `end` and `error` is called, once. */
export interface BodySink {
  data(chunk: Uint8Array): void;
  end(): void;
  error(error: unknown): void;
}

/** An answer whose status and headers have arrived and whose body waits to be read. */
export interface Exchange {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Record<string, string>;
  /**
   * Sets the sink, once. Data and end are reported after `resume`; a failure at once, unless data
   * that came before it waits.
   */
  listen(sink: BodySink): void;
  pause(): void;
  resume(): void;
  /** Destroys the connection, whatever is still under way on it; the sink hears nothing more. */
  destroy(): void;
}

/** Sends one request. Rejects with AttemptFailure, or UpstreamAborted when `signal` fires. */
export function attempt(deps: AttemptDeps, request: AttemptRequest): Promise<Exchange> {
  const { promise, resolve, reject } = Promise.withResolvers<Exchange>();
  new Attempt(deps, request, resolve, reject).start();
  return promise;
}

/**
 * A kept connection that the vendor had closed fails within this time, and without a byte of an
 * answer. One that breaks later had delivered the request: with a second try the vendor would do,
 * and charge for, the same again.
 */
const staleMs = 5_000;
/** Cap on the 1xx answers that are skipped; a vendor that sends more isn't going to answer. */
const maxInformational = 32;

class Attempt implements RequestHandler, Exchange {
  readonly #deps: AttemptDeps;
  readonly #request: AttemptRequest;
  readonly #resolve: (exchange: Exchange) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #deadline: Deadline;
  #state: Progress | "answering" | "over" = "queued";
  #connection: Connection | undefined;
  #leaveQueue = () => {};
  #informational = 0;
  /** When the system had the whole request (monotonic ms). */
  #sentMs = Infinity;
  status = 0;
  headers: Record<string, string> = {};
  #sink: BodySink | undefined;
  #paused = true;
  /** Pieces that came after `pause`: a connection stops only at the next read. */
  #held: Uint8Array[] = [];
  #ended = false;
  #failure: { error: unknown } | undefined;

  constructor(
    deps: AttemptDeps,
    request: AttemptRequest,
    resolve: (exchange: Exchange) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#deps = deps;
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#deadline = new Deadline(deps.clock, deps.setTimer, () => {
      if (this.#isAsking()) this.#fail(timeoutFailure(this.#state as Progress));
    }, true);
  }

  start(): void {
    this.#request.signal.addEventListener("abort", this.#onAbort);
    this.#deadline.limit(this.#deps.connectMs);
    const { origin } = this.#request.url;
    this.#leaveQueue = this.#deps.connections.take(origin, (connection) => this.#send(connection));
  }

  #onAbort = (): void => this.#fail(new UpstreamAborted());

  #isAsking(): boolean {
    return this.#state !== "answering" && this.#state !== "over";
  }

  #send(connection: Connection): void {
    this.#connection = connection;
    this.#state = "connecting";
    const { url, method, headers, body } = this.#request;
    const path = url.pathname + url.search;
    connection.send({ path, method, headers }, body, this);
  }

  sending(): boolean {
    if (this.#state !== "connecting") return false;
    this.#state = "sent";
    this.#deadline.limit(this.#deps.firstByteMs);
    return true;
  }

  /**
   * Sending a large body takes its time; the vendor's time to answer begins when it has been sent.
   */
  sent(): void {
    const restart = () => {
      if (this.#state !== "sent") return;
      this.#sentMs = this.#deps.clock.monotonicMs();
      this.#deadline.limit(this.#deps.firstByteMs);
    };
    restart();
    this.#connection?.onSent(restart);
  }

  head(status: number, headers: Record<string, string>): void {
    if (this.#state !== "sent") return;
    if (status < 200) {
      if (++this.#informational <= maxInformational) return;
      return this.#fail(failureOf(new NotHttp("framing"), "sent", false));
    }
    this.#settle("answering");
    this.status = status;
    this.headers = headers;
    this.#resolve(this);
  }

  data(chunk: Uint8Array): void {
    if (this.#state !== "answering") return;
    if (!this.#paused) return this.#sink?.data(chunk);
    this.#held.push(chunk);
    // More of the same piece may follow.
    this.#connection?.pause();
  }

  end(): void {
    if (this.#state !== "answering") return;
    this.#ended = true;
    if (!this.#paused) this.#end();
  }

  error(error: unknown): void {
    if (this.#isAsking()) {
      const wasAtWork = this.#connection?.hasAnswerBegun === true ||
        this.#deps.clock.monotonicMs() - this.#sentMs > staleMs;
      const reused = this.#connection?.reused === true && !wasAtWork;
      return this.#fail(failureOf(error, this.#state as Progress, reused));
    }
    if (this.#state !== "answering") return;
    this.#failure = { error };
    if (this.#held.length === 0) this.#break(error);
  }

  #break(error: unknown): void {
    this.#state = "over";
    this.#sink?.error(error);
  }

  #fail(reason: AttemptFailure | UpstreamAborted): void {
    if (!this.#isAsking()) return;
    this.#settle("over");
    this.#reject(reason);
    this.#leaveQueue();
    this.#connection?.destroy(reason instanceof AttemptFailure && isNotHttp(reason.code));
  }

  #settle(state: "answering" | "over"): void {
    this.#state = state;
    this.#deadline.stop();
    this.#request.signal.removeEventListener("abort", this.#onAbort);
  }

  listen(sink: BodySink): void {
    this.#sink = sink;
    if (this.#failure && this.#state === "over") sink.error(this.#failure.error);
  }

  pause(): void {
    if (this.#state !== "answering") return;
    this.#paused = true;
  }

  resume(): void {
    // Deferred: the caller may be a handler of another connection, in the middle of its parser's
    // push.
    if (!this.#paused) return;
    this.#paused = false;
    queueMicrotask(() => this.#flow());
  }

  #flow(): void {
    while (!this.#paused && this.#state === "answering") {
      const chunk = this.#held.shift();
      if (chunk) this.#sink?.data(chunk);
      else if (this.#failure) return this.#break(this.#failure.error);
      else if (this.#ended) return this.#end();
      else return this.#connection?.resume();
    }
  }

  #end(): void {
    if (this.#held.length > 0) return;
    this.#state = "over";
    this.#connection?.release();
    this.#sink?.end();
  }

  destroy(): void {
    if (this.#state === "over") return;
    this.#state = "over";
    this.#held = [];
    this.#connection?.destroy();
  }
}
