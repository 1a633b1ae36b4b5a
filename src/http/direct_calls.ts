import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { breakOff } from "../base/break_off.ts";
import { joinBytes } from "../base/bytes.ts";
import { PushedStream } from "../base/streams.ts";
import { turnEnd } from "../base/turns.ts";
import type { Reply } from "../relay/reply.ts";
import type { DirectEndpoints, FoundEndpoint } from "./direct_endpoints.ts";
import { asFault, errorReply } from "./errors.ts";
import { type HttpRequest, pathOf, type RequestBody } from "./http_request.ts";
import type { AccessLog } from "./middleware/access_log.ts";
import type { Authenticate } from "./middleware/authenticate.ts";
import type { RateCheck } from "./middleware/rate_limit.ts";
import { newRequestContext, type RequestContextDeps } from "./middleware/request_context.ts";
import { addServiceHeaders } from "./middleware/response_headers.ts";
import type { ErrorDialectOf } from "./error_dialect.ts";
import type { OnFault, RequestContext } from "./request_context.ts";
import { HeaderList, nameAnswer } from "./respond.ts";
import { wholeBytes } from "./sent_body.ts";
import { sendPushed } from "./stream_sink.ts";

/** The steps of every call, over HTTP and over WebSockets. */
export interface CallSteps {
  endpoints: DirectEndpoints;
  contexts: RequestContextDeps;
  authenticate: Authenticate;
  rateCheck: RateCheck;
  accessLog: AccessLog;
  errorDialect: ErrorDialectOf;
  onFault: OnFault;
}

/** Answers a request and returns true; false if the web framework has to answer it. */
export type DirectCalls = (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;

/**
 * The fast path of ordinary calls: a small body for a path of `DirectEndpoints`. It runs the same
 * steps as the web framework's middleware, without its requests, responses and router, which cost
 * as much as all of these steps together.
 */
export function createDirectCalls(deps: CallSteps): DirectCalls {
  return (incoming, outgoing) => {
    const { url = "" } = incoming;
    const path = pathOf(url);
    const search = url.slice(path.length);
    const found = deps.endpoints.find(incoming.method ?? "", path);
    if (found === undefined || !isPlain(incoming, deps.contexts.trustProxy)) return false;
    answer(deps, found, { incoming, outgoing, path, search }).catch((thrown) => {
      // Writing the answer failed: cut it off, so that its beginning doesn't look complete.
      deps.onFault(asFault(thrown), { requestId: "" });
      outgoing.destroy();
    });
    return true;
  };
}

/**
 * Whether a request can take the fast path. The web framework's requests can read large bodies in
 * pieces, and its middleware handles CORS and the redirect to HTTPS.
 */
function isPlain({ headers }: IncomingMessage, trustProxy: boolean): boolean {
  const length = headers["content-length"];
  const proto = trustProxy ? headers["x-forwarded-proto"] : undefined;
  return length !== undefined && Number(length) <= wholeBytes &&
    headers["transfer-encoding"] === undefined && headers.origin === undefined &&
    (proto === undefined || proto === "https");
}

interface Exchange {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  path: string;
  search: string;
}

async function answer(deps: CallSteps, found: FoundEndpoint, exchange: Exchange) {
  const { incoming, outgoing, path } = exchange;
  const request = new DirectRequest(exchange, found.params);
  const remoteHost = incoming.socket.remoteAddress ?? "";
  const requestContext = newRequestContext(deps.contexts, request.header, { remoteHost, incoming });
  const { reply, headers } = await replyTo(deps, found, request, requestContext);
  const all = new HeaderList(reply.headers);
  nameAnswer(all, requestContext);
  all.setAll(headers);
  addServiceHeaders(all, requestContext, deps.errorDialect(path, request.header));
  deps.accessLog(requestContext, request.method, reply.status);
  send(outgoing, reply, all);
}

async function replyTo(
  deps: CallSteps,
  { endpoint }: FoundEndpoint,
  request: HttpRequest,
  requestContext: RequestContext,
): Promise<{ reply: Reply; headers: Readonly<Record<string, string>> }> {
  try {
    const noKey = await deps.authenticate(requestContext, request);
    if (noKey !== undefined) return { reply: noKey, headers: {} };
    const { headers, refusal } = await deps.rateCheck(
      requestContext,
      request.path,
      request.header,
    );
    return { reply: refusal ?? await endpoint(request, requestContext), headers };
  } catch (thrown) {
    const fault = asFault(thrown);
    deps.onFault(fault, requestContext);
    const dialect = deps.errorDialect(request.path);
    return { reply: errorReply(fault, dialect, requestContext.requestId), headers: {} };
  }
}

class DirectRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly body: RequestBody;
  readonly #search: string;
  readonly #params: FoundEndpoint["params"];
  /** Lower-case names, each at the place of its value in `#values`. */
  readonly #names: string[] = [];
  readonly #values: string[] = [];

  constructor(
    { incoming, outgoing, path, search }: Exchange,
    params: FoundEndpoint["params"],
  ) {
    this.method = incoming.method ?? "";
    this.path = path;
    this.#search = search;
    this.#params = params;
    this.#readHeaders(incoming.rawHeaders);
    const leaving = new AbortController();
    this.signal = leaving.signal;
    this.body = { whole: () => readWhole(incoming), pieces: () => undefined };
    outgoing.on("close", () => {
      if (!outgoing.writableFinished) leaving.abort("Client connection prematurely closed.");
    });
  }

  /** Joins headers of the same name with commas, as `Headers` does. */
  #readHeaders(raw: readonly string[]): void {
    for (let at = 0; at < raw.length; at += 2) {
      const name = raw[at]!.toLowerCase();
      const value = raw[at + 1]!;
      const earlier = this.#names.indexOf(name);
      if (earlier >= 0) this.#values[earlier] += `, ${value}`;
      else {
        this.#names.push(name);
        this.#values.push(value);
      }
    }
  }

  readonly header = (name: string): string | undefined => {
    const at = this.#names.indexOf(name);
    return at < 0 ? undefined : this.#values[at];
  };

  readonly headerNames = (): readonly string[] => this.#names;

  queries(): Record<string, string[]> {
    const byName = Map.groupBy(new URLSearchParams(this.#search), ([name]) => name);
    return Object.fromEntries(
      [...byName].map(([name, all]) => [name, all.map(([, value]) => value)]),
    );
  }

  params(): Record<string, string> {
    return { ...this.#params };
  }
}

function readWhole(incoming: IncomingMessage): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const pieces: Uint8Array[] = [];
  const cut = () => reject(new Error("the request ended before its body did"));
  if (incoming.destroyed) cut();
  incoming.on("data", (piece: Uint8Array) => void pieces.push(piece));
  incoming.on("end", () => resolve(joinBytes(pieces)));
  incoming.on("error", cut);
  // Every request closes in the end: an error, whose stack is costly, is made only for one cut off.
  incoming.on("close", () => incoming.readableEnded || cut());
  return promise;
}

function send(outgoing: ServerResponse, { status, body }: Reply, headers: HeaderList) {
  if (outgoing.destroyed) {
    if (body instanceof ReadableStream) void body.cancel().catch(() => {});
    return;
  }
  // HTTP/1.1 connections are kept alive by default: no header has to say so.
  outgoing.removeHeader("connection");
  if (!(body instanceof ReadableStream)) {
    headers.set("content-length", String(body === null ? 0 : Buffer.byteLength(body)));
    outgoing.writeHead(status, headers.flat);
    return void outgoing.end(body ?? undefined);
  }
  outgoing.writeHead(status, headers.flat);
  if (body instanceof PushedStream) return sendPushed(body, outgoing);
  void stream(outgoing, body.getReader());
}

/** Writes with backpressure. If the caller leaves, the reader is cancelled. */
async function stream(
  outgoing: ServerResponse,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<void> {
  const left = () => void reader.cancel().catch(() => {});
  outgoing.once("close", left);
  try {
    const first = reader.read();
    // The head leaves with the first bytes if they come within this turn of the loop, else alone.
    const isThere = await Promise.race([first.then(() => true), turnEnd().then(() => false)]);
    if (!isThere) outgoing.flushHeaders();
    for (let next = await first; !next.done; next = await reader.read()) {
      if (!outgoing.write(next.value)) await drained(outgoing);
    }
    if (!outgoing.destroyed) outgoing.end();
  } catch (thrown) {
    breakOff(outgoing, thrown);
  } finally {
    outgoing.off("close", left);
  }
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      outgoing.off("drain", over);
      outgoing.off("close", over);
      resolve();
    };
    outgoing.on("drain", over);
    outgoing.on("close", over);
  });
}
