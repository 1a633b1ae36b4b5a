import http from "node:http";
import https from "node:https";
import type { Clock } from "../base/clock.ts";
import { Fault } from "../domain/fault.ts";
import { type Later, Watch } from "../base/watch.ts";

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
  readonly later: Later;
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly agents: { readonly http: http.Agent; readonly https: https.Agent };
}

/** An answer whose status and headers have arrived and whose body waits to be read. */
export interface Exchange {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Record<string, string>;
  readonly message: http.IncomingMessage;
  /** Destroys the connection, whatever is still under way on it. */
  destroy(): void;
}

/** Why a try failed before an answer came. */
export class AttemptFailure extends Error {
  constructor(
    readonly fault: Fault,
    /** `connect`: nothing was sent; `stale`: a kept connection had been closed meanwhile. */
    readonly kind: "connect" | "stale" | "final",
    /** Short and without an address, for the record. */
    readonly code: string,
  ) {
    super(code, { cause: fault });
  }
}

/** The caller left; the connection to the vendor is closed. */
export class UpstreamAborted extends Error {
  constructor() {
    super("The call to the vendor was aborted");
    this.name = "AbortError";
  }
}

/** Sends one request. Rejects with AttemptFailure, or UpstreamAborted when `signal` fires. */
export function attempt(deps: AttemptDeps, request: AttemptRequest): Promise<Exchange> {
  const { promise, resolve, reject } = Promise.withResolvers<Exchange>();
  let state: "queued" | "connecting" | "sent" | "over" = "queued";
  let reused = false;
  const outgoing = open(deps, request);
  const onAbort = () => fail(new UpstreamAborted());
  const watch = new Watch(deps.clock, deps.later, () => fail(timeoutFailure(state)));
  function settle(): void {
    state = "over";
    watch.stop();
    request.signal.removeEventListener("abort", onAbort);
  }
  function fail(reason: AttemptFailure | UpstreamAborted): void {
    if (state === "over") return;
    settle();
    reject(reason);
    outgoing.destroy();
  }
  function connected(): void {
    state = "sent";
    watch.limit(deps.firstByteMs);
  }
  outgoing.on("socket", (socket) => {
    socket.setNoDelay(true);
    reused = outgoing.reusedSocket;
    // Deno 2.9 repeats a request by itself when a reused connection closes before an answer, even
    // when it was we who closed it: a call that was aborted would be sent, and billed, again.
    outgoing.reusedSocket = false;
    if (reused) return connected();
    state = "connecting";
    socket.once(request.url.protocol === "https:" ? "secureConnect" : "connect", connected);
  });
  // A large body takes its time; the vendor's time to answer begins when it has been written.
  outgoing.on("finish", () => state === "sent" && watch.limit(deps.firstByteMs));
  outgoing.on("response", (message) => {
    if (state === "over") return;
    settle();
    // Until the body's reader listens: an error event that nobody hears would end the process.
    message.on("error", () => {});
    const headers = plainHeaders(message.headers);
    const status = message.statusCode ?? 0;
    resolve({ status, headers, message, destroy: () => void outgoing.destroy() });
  });
  // Also heard, and ignored, after the answer has begun; the message reports those too.
  outgoing.on("error", (error) => fail(failureOf(error, state, reused)));
  outgoing.on("close", () => fail(failureOf({ code: "closed" }, state, reused)));
  request.signal.addEventListener("abort", onAbort);
  watch.limit(deps.connectMs);
  const pieces = request.body ?? [];
  for (const piece of pieces.slice(0, -1)) outgoing.write(piece);
  outgoing.end(pieces.at(-1));
  return promise;
}

function open(deps: AttemptDeps, request: AttemptRequest): http.ClientRequest {
  const secure = request.url.protocol === "https:";
  try {
    return (secure ? https : http).request(request.url, {
      method: request.method,
      headers: request.headers,
      agent: secure ? deps.agents.https : deps.agents.http,
    });
  } catch (cause) {
    // A header that HTTP can't carry. The cause is left out: it may quote the value.
    const code = codeOf(cause);
    const fault = new Fault("internal_error", { note: `The vendor call is malformed: ${code}` });
    throw new AttemptFailure(fault, "final", code);
  }
}

/** Failures of a connection that was not made which a later try may not meet again. */
const passingConnectCodes: ReadonlySet<string> = new Set(
  ["ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH"]
    .concat(["ENETUNREACH", "EHOSTDOWN", "ENETDOWN", "ENOTFOUND", "EAI_AGAIN", "EADDRNOTAVAIL"]),
);

const closedCodes: ReadonlySet<string> = new Set(["ECONNRESET", "ECONNABORTED", "EPIPE", "closed"]);

function failureOf(error: unknown, state: string, reused: boolean): AttemptFailure {
  const code = codeOf(error);
  if (code.startsWith("HPE_")) {
    const note = `The vendor's answer is not HTTP: ${code}`;
    return new AttemptFailure(new Fault("upstream_invalid_response", { note }), "final", code);
  }
  const sent = state === "sent";
  const note = `${sent ? "The connection closed before an answer" : "No connection"}: ${code}`;
  const fault = new Fault("upstream_unreachable", { note, cause: error });
  const kind = sent
    ? (reused && closedCodes.has(code) ? "stale" : "final")
    : (passingConnectCodes.has(code) ? "connect" : "final");
  return new AttemptFailure(fault, kind, code);
}

function timeoutFailure(state: string): AttemptFailure {
  if (state === "queued") {
    const note = "All connections to the vendor are in use";
    return new AttemptFailure(new Fault("overloaded", { note }), "final", "no_free_connection");
  }
  const note = state === "sent" ? "No first byte in time" : "No connection in time";
  const code = state === "sent" ? "first_byte_timeout" : "connect_timeout";
  const fault = new Fault(state === "sent" ? "upstream_timeout" : "upstream_unreachable", { note });
  return new AttemptFailure(fault, "final", code);
}

/** The system's error code; of several tried addresses the first one's. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "unknown";
}

function plainHeaders(headers: http.IncomingHttpHeaders): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) plain[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return plain;
}
