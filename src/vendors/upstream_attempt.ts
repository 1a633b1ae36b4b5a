import { type Dispatcher, errors } from "undici";
import type { Clock } from "../base/clock.ts";
import { Deadline, type SetTimer } from "../base/deadline.ts";
import {
  AttemptFailure,
  codeOf,
  failureOf,
  isNotHttp,
  type Progress,
  timeoutFailure,
  UpstreamAborted,
} from "./upstream_failure.ts";
import type { Connection, ConnectionPool } from "./upstream_pool.ts";
export { AttemptFailure, UpstreamAborted };

/** One try, its body encoded once for all tries. */
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

/** Where an answer's body goes: of `end` and `error` exactly one is called, once. */
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
  /** Names the sink, once. A failure is told at once, data and end only after `resume`. */
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

/** Answers of 1xx that are passed over; a vendor that says more does not mean to answer. */
const maxInformational = 32;

class Attempt implements Dispatcher.DispatchHandler, Exchange {
  readonly #deps: AttemptDeps;
  readonly #request: AttemptRequest;
  readonly #resolve: (exchange: Exchange) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #deadline: Deadline;
  #state: Progress | "answering" | "over" = "queued";
  #connection: Connection | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #leaveQueue = () => {};
  #informational = 0;
  status = 0;
  headers: Record<string, string> = {};
  #sink: BodySink | undefined;
  #paused = true;
  /** What came in spite of the pause: the library stops at the next piece. */
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
    // A list is written piece by piece, one piece at once with the head.
    const bytes = body === undefined || body.length > 1 ? body : body[0];
    const sent = bytes === undefined ? null : bytes as Dispatcher.DispatchOptions["body"] & object;
    connection.send({ path, method, headers, body: sent }, this);
  }

  /** The connection stands, and the request's first byte is about to be written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#state !== "connecting") return controller.abort(new UpstreamAborted());
    this.#controller = controller;
    this.#state = "sent";
    if (this.#connection) this.#connection.awaitsHead = true;
    this.#deadline.limit(this.#deps.firstByteMs);
  }

  /** A large body takes its time; the vendor's time to answer begins when it has been taken. */
  onRequestSent(): void {
    const restart = () => this.#state === "sent" && this.#deadline.limit(this.#deps.firstByteMs);
    restart();
    if ((this.#connection?.unsentBytes ?? 0) > 0) this.#connection?.onSent(restart);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.#state !== "sent") return;
    if (status < 200) {
      if (++this.#informational <= maxInformational) return;
      return this.#fail(failureOf(new errors.SocketError("bad response"), "sent", false));
    }
    controller.pause();
    if (this.#connection) this.#connection.awaitsHead = false;
    this.#settle("answering");
    this.status = status;
    this.headers = plainHeaders(headers);
    this.#resolve(this);
  }

  onResponseData(_controller: unknown, chunk: Uint8Array): void {
    if (this.#state !== "answering") return;
    if (this.#paused) this.#held.push(chunk);
    else this.#sink?.data(chunk);
  }

  onResponseEnd(): void {
    if (this.#state !== "answering") return;
    this.#ended = true;
    this.#connection?.release();
    if (!this.#paused) this.#end();
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#isAsking()) {
      const reused = this.#connection?.reused === true;
      return this.#fail(failureOf(error, this.#state as Progress, reused));
    }
    this.#connection?.destroy(isNotHttp(codeOf(error)));
    if (this.#state !== "answering") return;
    this.#state = "over";
    this.#failure = { error };
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
    if (this.#failure) sink.error(this.#failure.error);
  }

  pause(): void {
    if (this.#state !== "answering") return;
    this.#paused = true;
    if (!this.#ended) this.#controller?.pause();
  }

  resume(): void {
    // Not within a handler of another connection, whose bytes the parser is reading just then.
    if (!this.#paused) return;
    this.#paused = false;
    queueMicrotask(() => this.#flow());
  }

  #flow(): void {
    while (!this.#paused && this.#state === "answering") {
      const chunk = this.#held.shift();
      if (chunk) this.#sink?.data(chunk);
      else if (this.#ended) return this.#end();
      else return this.#controller?.resume();
    }
  }

  #end(): void {
    if (this.#held.length > 0) return;
    this.#state = "over";
    this.#sink?.end();
  }

  destroy(): void {
    if (this.#state === "over") return;
    this.#state = "over";
    this.#held = [];
    if (!this.#ended) this.#connection?.destroy();
  }
}

/** Of these only the first one counts, should a vendor send two. */
const single: ReadonlySet<string> = new Set(
  ["content-type", "content-length", "content-encoding", "location", "retry-after", "etag"]
    .concat(["retry-after-ms", "last-modified", "expires", "server"]),
);

function plainHeaders(
  headers: Record<string, string | string[] | undefined>,
): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === "string") plain[name] = value;
    else if (value) plain[name] = single.has(name) ? value[0] ?? "" : value.join(", ");
  }
  return plain;
}
