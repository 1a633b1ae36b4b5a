import { Buffer } from "node:buffer";
import { joinBytes } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";
import { Fault } from "../shared/fault.ts";
import { attempt, type AttemptRequest, type BodySink, type Exchange } from "./upstream_attempt.ts";
import { AttemptFailure, UpstreamAborted } from "./upstream_failure.ts";
import { type BodyHandlers, createBody, type UpstreamBody } from "./upstream_body.ts";
import { createConnector } from "./http1/connect.ts";
import type { PooledKey } from "./key_pool.ts";
import { type Resolve, systemResolve } from "./public_agents.ts";
import { ConnectionPool } from "./upstream_pool.ts";
import { mayBeRetried, nextDelayMs, retryAfterMs } from "./upstream_retry.ts";
import { type SetTimer, systemSetTimer } from "../base/deadline.ts";
import { vendorLookup } from "./vendor_lookup.ts";

export type { BodyHandlers, UpstreamBody };

/**
 * The only outbound HTTP client. It speaks HTTP/1.1 itself (`http1/`), with a parser for each
 * connection: node:http takes its parsers from a pool that it shares with listeners, and so once
 * read a caller's bytes as a vendor's answer. It follows no redirects and uses no proxies.
 */
export interface Upstream {
  /**
   * Resolves when status and headers have arrived, whatever the status. Rejects with a Fault
   * (`upstream_unreachable`: refused, name, TLS or connect timeout; `upstream_timeout`: no first
   * byte; `upstream_invalid_response`: not HTTP; `overloaded`: no free connection) or, when
   * `signal` fires, with an abort (see `isAbort`) after the connection was closed.
   */
  call(request: UpstreamRequest): Promise<UpstreamAnswer>;
  /** Closes all connections; calls under way fail, later ones are refused as `overloaded`. */
  close(): void;
}

/** A request's body; pieces are sent one after the other, and none of them is copied. */
export type RequestBytes = string | Uint8Array | readonly Uint8Array[];

export interface UpstreamRequest {
  readonly url: string;
  readonly method: string;
  /**
   * Connection headers are dropped; `host`, `content-length` and `accept-encoding` are set here.
   */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: RequestBytes;
  readonly signal: AbortSignal;
  /** False: one try only. */
  readonly retry?: boolean;
  /** Cap on the tries, where it is lower than the usual one. */
  readonly maxTries?: number;
  /** False: a 429 is final, whatever `retry` says. */
  readonly retryLimited?: boolean;
  /**
   * Whether a 429 is final although it may be retried, such as that of a used-up quota. Asked during
   * the back-off if the whole body has come and has at most 64 KiB.
   */
  readonly isFinal?: (refusal: UpstreamRefusal, body: string) => boolean;
  /** Called with each try that has ended, also where the call rejects in the end. */
  readonly onTry?: (entry: AttemptLogEntry) => void;
  /** Called once the call has rejected, or the answer's body is over: read, failed or destroyed. */
  readonly onEnd?: () => void;
  /** How long the vendor may be silent, first byte included, if that is longer than usual. */
  readonly silenceMs?: number;
}

export type UpstreamRefusal = Pick<UpstreamAnswer, "status" | "headers">;

export interface UpstreamAnswer {
  readonly status: number;
  /** Names in lower case. `content-encoding` is gone when the body is decoded here. */
  readonly headers: Readonly<Record<string, string>>;
  /** Tries made, this one included. */
  readonly attempts: number;
  readonly attemptLog: readonly AttemptLogEntry[];
  readonly body: UpstreamBody;
  /** The pooled key that brought the answer; set only where the status is good. */
  readonly key?: PooledKey;
}

/** One try: its status, or a short error code, or that the caller left, and how long it took. */
export interface AttemptLogEntry {
  readonly status?: number;
  readonly error?: string;
  readonly aborted?: true;
  readonly ms: number;
}

export interface UpstreamOptions {
  readonly clock: Clock;
  readonly timeouts: {
    /** Until the connection is open, TLS included. */
    readonly connectMs: number;
    /** From the request's last byte to the answer's headers. */
    readonly firstByteMs: number;
    /** Between two pieces of the body, while we are reading. */
    readonly idleMs: number;
  };
  /** Cap on an answer's body, as sent and decoded. */
  readonly maxAnswerBytes: number;
  /** Open connections per vendor address; further calls wait up to `connectMs`. */
  readonly maxConnectionsPerHost?: number;
  /** How long a connection rests between two calls if another one is available. */
  readonly settleMs?: number;
  /** Tests have their own names. */
  readonly resolve?: Resolve;
  readonly random?: () => number;
  readonly setTimer?: SetTimer;
}

/** Whether a call or a body ended because the caller's signal fired. */
export function isAbort(thrown: unknown): boolean {
  return thrown instanceof UpstreamAborted;
}

/** Builds the client; it owns its connections until `close`. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const client: Client = {
    ...options,
    random: options.random ?? Math.random,
    setTimer: options.setTimer ?? systemSetTimer,
    connections: new ConnectionPool({
      clock: options.clock,
      connector: createConnector({ lookup: vendorLookup(options.resolve ?? systemResolve) }),
      maxPerHost: options.maxConnectionsPerHost ?? 1024,
      keepMs: maxIdleConnectionMs,
      settleMs: options.settleMs ?? settleMs,
    }),
    closed: false,
  };
  return {
    async call(request) {
      try {
        return await callWithRetries(client, request);
      } catch (thrown) {
        request.onEnd?.();
        throw thrown;
      }
    },
    close() {
      client.closed = true;
      client.connections.close();
    },
  };
}

interface Client extends UpstreamOptions {
  readonly random: () => number;
  readonly setTimer: SetTimer;
  readonly connections: ConnectionPool;
  closed: boolean;
}

/** How many kept connections may turn out to be closed before that counts as a failure. */
const maxStale = 3;
const maxDrainedBytes = 64 * 1024;
/** Shorter than the idle limits of vendors' front ends and networks in between (60 s and up). */
const maxIdleConnectionMs = 30_000;
/** Stray bytes that a vendor sends after its answer come with it or within this time. */
const settleMs = 10;

async function callWithRetries(client: Client, request: UpstreamRequest): Promise<UpstreamAnswer> {
  const prepared = await prepare(client, request);
  const log: AttemptLogEntry[] = [];
  const state = { retries: 0, waitedMs: 0 };
  let stale = 0;
  while (true) {
    if (request.signal.aborted) throw new UpstreamAborted();
    if (client.closed) throw new Fault("overloaded", { note: "The client is closed" });
    const outcome = await tryOnce(client, prepared, log, request.silenceMs)
      .finally(() => request.onTry?.(log.at(-1)!));
    if (outcome instanceof AttemptFailure && client.closed) throw outcome.fault;
    if (outcome instanceof AttemptFailure && outcome.kind === "stale" && stale < maxStale) {
      stale++;
      client.connections.dropIdle(prepared.url.origin);
      continue;
    }
    const delayMs = mayRetry(request, outcome, log.length - stale)
      ? delayAfter(client, outcome, state)
      : undefined;
    if (delayMs === undefined) {
      if (outcome instanceof AttemptFailure) throw outcome.fault;
      return answerOf(client, outcome, request, log);
    }
    const drained = outcome instanceof AttemptFailure ? undefined : drain(outcome);
    try {
      await wait(client, delayMs, request.signal);
    } finally {
      drained?.discard();
    }
    const final = drained && await finalRefusal(client, request, drained);
    if (final) return answerOf(client, final, request, log);
    state.retries++;
    state.waitedMs += delayMs;
  }
}

async function prepare(client: Client, request: UpstreamRequest): Promise<AttemptRequest> {
  const body = request.body === undefined ? undefined : await piecesOf(client, request.body);
  const headers: Record<string, string> = {};
  for (const written in request.headers) {
    const name = written.toLowerCase();
    if (!ownHeaders.has(name)) headers[name] = request.headers[written]!;
  }
  // Compressed events would have to be decoded before they can be read.
  headers["accept-encoding"] = "identity";
  const { method, signal } = request;
  if (body) headers["content-length"] = String(body.reduce((sum, one) => sum + one.length, 0));
  else if (method !== "GET" && method !== "HEAD") headers["content-length"] = "0";
  return { url: new URL(request.url), method, headers, body, signal };
}

/** Encodes a text of megabytes piece by piece, letting other work run in between. */
async function piecesOf(client: Client, body: RequestBytes): Promise<readonly Uint8Array[]> {
  if (typeof body !== "string") return body instanceof Uint8Array ? [body] : body;
  // Most bodies fit into `Buffer`'s pool; `TextEncoder` allocates memory for each.
  if (body.length <= encodedUnits) return [Buffer.from(body)];
  const encoder = new TextEncoder();
  const pieces: Uint8Array[] = [];
  for (let from = 0; from < body.length;) {
    let to = Math.min(body.length, from + encodedUnits);
    // Never splits a surrogate pair, whose halves can't be encoded alone.
    if (to < body.length && (body.charCodeAt(to - 1) & 0xfc00) === 0xd800) to++;
    pieces.push(encoder.encode(body.slice(from, to)));
    from = to;
    await new Promise<void>((resolve) => client.setTimer(0, resolve));
  }
  return pieces;
}

/** UTF-16 units encoded at once. */
const encodedUnits = 1024 * 1024;

/** Headers that describe the connection to the vendor, which is ours. */
const ownHeaders: ReadonlySet<string> = new Set(
  ["host", "connection", "keep-alive", "content-length", "transfer-encoding", "te", "trailer"]
    .concat(["upgrade", "expect", "proxy-connection", "accept-encoding"]),
);

/** Makes one try and logs it. Throws only what is never retried. */
async function tryOnce(
  client: Client,
  request: AttemptRequest,
  log: AttemptLogEntry[],
  silenceMs = 0,
): Promise<Exchange | AttemptFailure> {
  const { clock, setTimer, connections } = client;
  const { connectMs } = client.timeouts;
  const firstByteMs = Math.max(client.timeouts.firstByteMs, silenceMs);
  const startMs = clock.monotonicMs();
  try {
    const deps = { clock, setTimer, connections, connectMs, firstByteMs };
    const exchange = await attempt(deps, request);
    log.push({ status: exchange.status, ms: clock.monotonicMs() - startMs });
    return exchange;
  } catch (thrown) {
    const ms = clock.monotonicMs() - startMs;
    const isFailure = thrown instanceof AttemptFailure;
    log.push(isFailure ? { error: thrown.code, ms } : { aborted: true, ms });
    if (!isFailure) throw thrown;
    return thrown;
  }
}

function mayRetry(
  { retry, maxTries = Infinity, retryLimited }: UpstreamRequest,
  outcome: Exchange | AttemptFailure,
  tries: number,
): boolean {
  if (retry === false || tries >= maxTries) return false;
  return retryLimited !== false || outcome instanceof AttemptFailure || outcome.status !== 429;
}

function delayAfter(
  client: Client,
  outcome: Exchange | AttemptFailure,
  state: { retries: number; waitedMs: number },
): number | undefined {
  if (outcome instanceof AttemptFailure) {
    return outcome.kind === "connect" ? nextDelayMs(state, client.random) : undefined;
  }
  if (!mayBeRetried(outcome.status, outcome.headers)) return undefined;
  return nextDelayMs(state, client.random, retryAfterMs(outcome.headers, client.clock.now()));
}

function answerOf(
  client: Client,
  exchange: Exchange,
  { signal, silenceMs = 0, onEnd }: UpstreamRequest,
  log: AttemptLogEntry[],
): UpstreamAnswer {
  const { clock, setTimer, maxAnswerBytes } = client;
  const idleMs = Math.max(client.timeouts.idleMs, silenceMs);
  const deps = { clock, setTimer, maxAnswerBytes, idleMs };
  const body = createBody(deps, exchange, signal, onEnd);
  let headers = exchange.headers;
  if ("content-encoding" in headers) {
    const { "content-encoding": _encoding, "content-length": _length, ...others } = headers;
    headers = others;
  }
  return { status: exchange.status, headers, attempts: log.length, attemptLog: log, body };
}

interface Drained {
  readonly exchange: Exchange;
  /** The whole body once it has ended; undefined before, or if it was too large. */
  body(): Uint8Array | undefined;
  /** Ends the reading, and closes the connection of an answer that isn't complete. */
  discard(): void;
}

/** Reads an unwanted answer during the back-off, so that its connection can be used again. */
function drain(exchange: Exchange): Drained {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  let ended = false;
  exchange.listen({
    data(chunk) {
      bytes += chunk.byteLength;
      if (bytes > maxDrainedBytes) exchange.destroy();
      else pieces.push(chunk);
    },
    end: () => ended = true,
    error() {},
  });
  exchange.resume();
  return {
    exchange,
    body: () => ended ? joinBytes(pieces) : undefined,
    discard() {
      if (!ended) exchange.destroy();
    },
  };
}

/** Returns a drained 429 that the caller finds final, to be read once more. */
async function finalRefusal(
  { clock, setTimer, timeouts: { idleMs } }: Client,
  { isFinal, signal }: UpstreamRequest,
  { exchange, body }: Drained,
): Promise<Exchange | undefined> {
  const bytes = isFinal && exchange.status === 429 ? body() : undefined;
  if (!bytes) return undefined;
  const deps = { clock, setTimer, maxAnswerBytes: maxDrainedBytes, idleMs };
  const decoded = await createBody(deps, replayed(exchange, bytes), signal)
    .readAll(maxDrainedBytes).catch(() => undefined);
  if (!decoded || !isFinal!(exchange, new TextDecoder().decode(decoded))) return undefined;
  return replayed(exchange, bytes);
}

function replayed({ status, headers }: Exchange, bytes: Uint8Array): Exchange {
  let sink: BodySink | undefined;
  return {
    status,
    headers,
    listen: (one) => sink = one,
    pause() {},
    resume() {
      const reader = sink;
      sink = undefined;
      reader?.data(bytes);
      reader?.end();
    },
    destroy: () => sink = undefined,
  };
}

function wait(client: Client, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      cancel();
      reject(new UpstreamAborted());
    };
    const cancel = client.setTimer(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
