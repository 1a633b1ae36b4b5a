import type { Clock } from "../base/clock.ts";
import type { FairQueue } from "../base/fair_queue.ts";
import { plainMime } from "../dialects/kernel/media_source.ts";
import { Fault } from "../shared/fault.ts";
import {
  createLookupTurns,
  type Lookup,
  plainLookup,
  publicConnections,
  publicConnector,
  publicLookup,
  type Resolve,
  systemResolve,
} from "./public_agents.ts";
import { createPermit, type Permit, type PublicTarget } from "./public_target.ts";
import { attempt, type Exchange } from "./upstream_attempt.ts";
import { AttemptFailure, UpstreamAborted } from "./upstream_failure.ts";
import { createBody } from "./upstream_body.ts";
import type { Connector } from "./http1/connect.ts";
import { Deadline, type SetTimer, systemSetTimer } from "../base/deadline.ts";

/** Fetches the URLs that callers name, from the public internet only. */
export interface PublicFetch {
  /**
   * Sends one GET and follows redirects. Rejects with the Fault `invalid_value`, whose message
   * begins with "the URL" and is safe to show, or with an abort (`isAbort` of upstream.ts) when
   * `signal` fires. The mime type is lower case without parameters; `application/octet-stream` when
   * the server names none.
   */
  fetch(url: string, options: PublicFetchOptions): Promise<PublicMedia>;
}

/** Posts to the addresses that operators name, on the public internet only. */
export interface PublicPost {
  /**
   * Sends one POST of JSON; redirects are not followed. Resolves with the status as soon as it
   * arrives; the body is not read. Rejects as `fetch` does.
   */
  post(url: string, options: PublicPostOptions): Promise<number>;
}

/** On whose behalf a request is made. */
export interface FetchCaller {
  /** The account's key in the queue of name lookups. */
  readonly key: string;
  readonly signal: AbortSignal;
}

export interface PublicPostOptions extends FetchCaller {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** How long the answer's status may take. */
  readonly timeoutMs: number;
}

export interface PublicFetchOptions extends FetchCaller {
  /** Never more than `maxPublicBytes`. */
  readonly maxBytes: number;
  /** Media types, `image/png` or `image/*`. */
  readonly accept: readonly string[];
}

export interface PublicMedia {
  readonly bytes: Uint8Array;
  readonly mimeType: string;
}

export interface PublicFetchDeps {
  readonly clock: Clock;
  /** Hosts that may be private and on plain http (`FETCH_ALLOW_HOSTS`); see `createPermit`. */
  readonly allowHosts: readonly string[];
  /** The process's queue (`createLookupTurns`); by default the client has its own. */
  readonly lookups?: FairQueue;
  readonly setTimer?: SetTimer;
  /** Tests have their own names and certificates. */
  readonly resolve?: Resolve;
  readonly connector?: (lookup: Lookup) => Connector;
}

/** Cap on one address's bytes, whatever a caller of `fetch` asks for. */
export const maxPublicBytes = 20 * 1024 * 1024;

const totalMs = 10_000;
/** Shorter than `totalMs`, so that a port that drops packets looks like one that refuses. */
const connectMs = 4_000;
const maxRedirects = 3;

/**
 * Builds the client, which keeps no connections. Throws RangeError for a wrong entry of
 * `allowHosts`.
 */
export function createPublicFetch(deps: PublicFetchDeps): PublicFetch & PublicPost {
  const client: Client = {
    clock: deps.clock,
    setTimer: deps.setTimer ?? systemSetTimer,
    permit: createPermit(deps.allowHosts),
    resolve: deps.resolve ?? systemResolve,
    lookups: deps.lookups ?? createLookupTurns(),
    connector: deps.connector ?? ((lookup) => publicConnector({ lookup })),
  };
  return {
    fetch: (url, { key, signal, accept, maxBytes }) =>
      inTime(client, signal, totalMs, (stop) =>
        follow(client, url, {
          ...{ key, accept, signal: stop },
          maxBytes: Math.min(maxBytes, maxPublicBytes),
        })),
    post: (url, options) =>
      inTime(
        client,
        options.signal,
        options.timeoutMs,
        (stop) => post(client, url, { ...options, signal: stop }),
      ),
  };
}

interface Client {
  readonly clock: Clock;
  readonly setTimer: SetTimer;
  readonly permit: Permit;
  readonly resolve: Resolve;
  readonly lookups: FairQueue;
  readonly connector: (lookup: Lookup) => Connector;
}

/** Runs `act`, and aborts it with a fault after `timeoutMs`. */
async function inTime<T>(
  client: Client,
  signal: AbortSignal,
  timeoutMs: number,
  act: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  if (signal.aborted) throw new UpstreamAborted();
  const stop = new AbortController();
  const onAbort = () => stop.abort();
  const deadline = new Deadline(client.clock, client.setTimer, onAbort);
  signal.addEventListener("abort", onAbort);
  deadline.limit(timeoutMs);
  try {
    return await act(stop.signal);
  } catch (thrown) {
    const isOurs = thrown instanceof UpstreamAborted && !signal.aborted;
    throw isOurs ? publicFault.timedOut(timeoutMs) : thrown;
  } finally {
    deadline.stop();
    signal.removeEventListener("abort", onAbort);
  }
}

async function post(
  client: Client,
  address: string,
  { key, headers, body, timeoutMs, signal }: PublicPostOptions,
): Promise<number> {
  const target = client.permit(address);
  if (target === undefined) throw publicFault.notFetched("the address is not permitted");
  const exchange = await ask(client, target, {
    ...{ key, method: "POST", body: [body], firstByteMs: timeoutMs, signal },
    headers: { ...headers, "content-length": String(body.byteLength) },
  });
  exchange.destroy();
  return exchange.status;
}

async function follow(
  client: Client,
  address: string,
  options: PublicFetchOptions,
): Promise<PublicMedia> {
  let target = client.permit(address);
  for (let redirects = 0;; redirects++) {
    if (target === undefined) throw publicFault.notFetched("the address is not permitted");
    const exchange = await ask(client, target, {
      ...{ key: options.key, method: "GET", firstByteMs: totalMs, signal: options.signal },
      headers: { accept: options.accept.join(", "), "accept-encoding": "identity" },
    });
    const location = redirectOf(exchange);
    if (location === undefined) return await take(client, exchange, options);
    exchange.destroy();
    if (redirects === maxRedirects) throw publicFault.redirects(maxRedirects);
    target = client.permit(location, target.url);
  }
}

interface PublicRequest extends FetchCaller {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: readonly Uint8Array[];
  readonly firstByteMs: number;
}

async function ask(
  client: Client,
  target: PublicTarget,
  { key, method, headers, body, firstByteMs, signal }: PublicRequest,
): Promise<Exchange> {
  // An attempt notices only aborts that come after it began.
  if (signal.aborted) throw new UpstreamAborted();
  const left = new AbortController();
  const lookup = lookupFor(client, target, { key, signal: left.signal });
  const connections = publicConnections(client.clock, client.connector(lookup));
  try {
    return await attempt({ ...client, connections, connectMs, firstByteMs }, {
      ...{ url: target.url, method, body, signal },
      // Some image hosts refuse requests without a user agent.
      headers: { ...headers, "user-agent": "demeter" },
    });
  } catch (thrown) {
    if (thrown instanceof AttemptFailure) throw publicFault.notFetched(thrown.code);
    throw thrown;
  } finally {
    left.abort();
  }
}

/**
 * Builds the lookup for a target. An abort ends the wait for a turn; a lookup that has begun holds
 * its turn until it ends.
 */
function lookupFor(
  { resolve, lookups }: Client,
  { trusted }: PublicTarget,
  { key, signal }: FetchCaller,
): Lookup {
  const inTurn: Resolve = (name) => lookups.run(key, () => resolve(name), signal);
  return trusted ? plainLookup(inTurn) : publicLookup(inTurn);
}

function redirectOf({ status, headers }: Exchange): string | undefined {
  return [301, 302, 303, 307, 308].includes(status) ? headers.location : undefined;
}

async function take(
  client: Client,
  exchange: Exchange,
  options: PublicFetchOptions,
): Promise<PublicMedia> {
  const mimeType = plainMime(exchange.headers["content-type"] ?? "") || "application/octet-stream";
  const problem = problemOf(exchange, mimeType, options);
  if (problem !== undefined) {
    exchange.destroy();
    throw problem;
  }
  return { bytes: await readBody(client, exchange, options), mimeType };
}

function problemOf(
  { status, headers }: Exchange,
  mimeType: string,
  { accept, maxBytes }: PublicFetchOptions,
): Fault | undefined {
  if (status !== 200) return publicFault.status(status);
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "";
  if (encoding !== "" && encoding !== "identity") return publicFault.encoded();
  if (!isAccepted(mimeType, accept)) return publicFault.wrongType(mimeType, accept);
  return Number(headers["content-length"]) > maxBytes ? publicFault.tooLarge(maxBytes) : undefined;
}

/** Whether a media type fits one of the patterns, `image/png` or `image/*`. */
export function isAccepted(mimeType: string, accept: readonly string[]): boolean {
  return accept.some((pattern) =>
    pattern.endsWith("/*") ? mimeType.startsWith(pattern.slice(0, -1)) : mimeType === pattern
  );
}

function readBody(
  { clock, setTimer }: Client,
  exchange: Exchange,
  { signal, maxBytes }: PublicFetchOptions,
): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const deps = { clock, setTimer, idleMs: totalMs, maxAnswerBytes: Infinity };
  const body = createBody(deps, exchange, signal);
  // Pieces are copied together: as a list, a server's tiny pieces would take many times the memory.
  let bytes = new Uint8Array(Math.min(maxBytes, 64 * 1024));
  let length = 0;
  body.onData({
    data(chunk) {
      // Thrown to the body, which closes the connection and hands it to `error`.
      if (length + chunk.byteLength > maxBytes) throw publicFault.tooLarge(maxBytes);
      if (length + chunk.byteLength > bytes.byteLength) {
        bytes = grown(bytes, Math.min(maxBytes, 2 * (length + chunk.byteLength)));
      }
      bytes.set(chunk, length);
      length += chunk.byteLength;
    },
    end: () => resolve(bytes.subarray(0, length)),
    error(reason) {
      const isCut = reason instanceof Fault && reason.code === "upstream_stream_truncated";
      const isIdle = reason instanceof Fault && reason.code === "upstream_timeout";
      reject(isCut ? publicFault.cut() : isIdle ? publicFault.timedOut(totalMs) : reason);
    },
  });
  return promise;
}

function grown(bytes: Uint8Array<ArrayBuffer>, size: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(size);
  larger.set(bytes);
  return larger;
}

/**
 * The faults for an address that was not fetched. Their messages begin with "the URL" and
 * follow a field's path. `notFetched` has one text for hosts that are private, unknown or don't
 * answer, so that callers learn nothing about the operator's network; no message says what a name
 * resolves to.
 */
const publicFault = {
  notFetched: (note: string) =>
    fault("can't be fetched: it must be a public https URL that responds", note),
  tooLarge: (maxBytes: number) => fault(`returned more than ${maxBytes} bytes`),
  wrongType: (mimeType: string, accept: readonly string[]) =>
    fault(`returned '${shown(mimeType)}'; expected ${accept.join(", ")}`),
  encoded: () => fault("answered with an unrequested content encoding"),
  status: (status: number) => fault(`answered with status ${status}; expected 200`),
  redirects: (max: number) => fault(`redirects more than ${max} times`),
  timedOut: (ms: number) => fault(`didn't answer completely within ${ms / 1000} seconds`),
  cut: () => fault("ended before its answer was complete"),
};

function fault(problem: string, note?: string): Fault {
  return new Fault("invalid_value", {
    message: `the URL ${problem}`,
    ...(note === undefined ? {} : { note }),
  });
}

/** Makes a server's media type safe to show: at most 80 characters, all legal in media types. */
function shown(mimeType: string): string {
  return mimeType.replace(/[^\w!#$&^.+/-]/g, "?").slice(0, 80);
}
