import { createPrivateKey, X509Certificate } from "node:crypto";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Clock } from "../base/clock.ts";
import type { SocketHandler } from "../base/frame_channel.ts";
import { stopBelowTls } from "../base/tls_backpressure.ts";
import { takeEachTurn } from "./accept_turn.ts";
import { AcceptWatch } from "./accept_watch.ts";
import { Connections } from "./connections.ts";
import { CountedMessage } from "./counted_message.ts";
import { acceptTargetOf, listen } from "./accept_target.ts";
import { cutOnFailure } from "./cut_answer.ts";
import { faultOfHead, faultOfTarget } from "./head.ts";
import type { ConnectionLimits } from "./limits.ts";
import { ConnectionEvents, type ConnectionListeners } from "./connection_events.ts";
import { deafen, type Refusal, type Unreadable, unreadable } from "./refusal.ts";
import { keepNoParsers, listNoRequests } from "./runtime_http.ts";
import { createWebSockets } from "./web_socket.ts";

/**
 * Answers a request; `remoteHost` is the address of the peer, `incoming` the Node request that a
 * guard saw.
 */
export type Handle = (
  request: Request,
  remoteHost: string,
  incoming: object,
) => Response | Promise<Response>;

/** An open port. */
export interface Listener {
  readonly port: number;
  /** Current number of connections. */
  readonly connections: number;
  /** Sets where refused and ended connections are reported. */
  setListeners(listeners: ConnectionListeners): void;
  /**
   * Takes no new requests, and resolves when those under way are answered, after `ms` at the
   * latest.
   */
  drain(ms: number): Promise<void>;
  /** Ends at once. */
  abort(): Promise<void>;
}

export interface ListenOptions {
  host: string;
  port: number;
  /**
   * Makes the answer to such a request, after which the connection is closed; `target` is the
   * request's as it was sent, if it could be read.
   */
  refuse(why: Unreadable, target?: string): Refusal;
  /** Wraps the function that answers requests, and may answer in its place. */
  guard?: ((listener: http.RequestListener) => http.RequestListener) | undefined;
  /** Answers requests for WebSockets; without it they are ordinary requests. */
  sockets?: SocketHandler | undefined;
  /** The largest message of a WebSocket. */
  maxMessageBytes?: number | undefined;
  /** Certificate and key in PEM; the listener speaks HTTPS then. */
  tls?: { cert: string; key: string };
  limits: ConnectionLimits;
  clock: Clock;
  /** How many processes share the port; default: 1. */
  sharers?: number;
  /** Max connections that the limit of descriptors allows, if they are known to be few. */
  maxByDescriptors?: number;
  /** Called twice a second as long as the port takes connections. */
  onAlive?(): void;
}

/**
 * Opens a port with `node:http`, since `Deno.serve` (2.9.6) doesn't notice a caller who leaves
 * before the answer begins unless head and body came in one piece: the vendor would be paid for
 * nobody. Parsers are never shared, and what `node:http` lacks (time limits, caps, recovery when
 * accepting fails) is done here. Rejects with the system's error (`code` EADDRINUSE, EACCES, …)
 * when it can't listen.
 */
export async function openListener(options: ListenOptions, handle: Handle): Promise<Listener> {
  keepNoParsers();
  const { limits, clock } = options;
  const events = new ConnectionEvents(clock);
  const connections = new Connections({ limits, clock, events, refuse: options.refuse });
  connections.most = Math.min(limits.most, options.maxByDescriptors ?? Infinity);
  const server = createServer(options, connections);
  takeConnections(server, connections, options.tls !== undefined);
  takeRequests(server, connections, { ...options, events }, handle);
  takeSockets(server, connections, options);
  refuseTheRest(server, connections, events);
  try {
    await listen(server, options);
  } catch (thrown) {
    void connections.close();
    throw thrown;
  }
  listNoRequests(server);
  // Later errors, such as when reopening the port, are handled where they arise; without a listener
  // they would end the process.
  server.on("error", () => {});
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : options.port;
  const { host, sharers = 1 } = options;
  const door = acceptTargetOf(server, connections, { port, host, sharers }, clock);
  const acceptWatch = new AcceptWatch(door, events, () => options.onAlive?.());
  acceptWatch.start();
  const takeNoMore = takeEachTurn(server);
  const close = (ms: number) => {
    takeNoMore();
    acceptWatch.close();
    return drain(server, connections, ms);
  };
  return {
    port,
    get connections() {
      return connections.size;
    },
    setListeners: (listeners) => events.setListeners(listeners),
    drain: close,
    abort: () => close(0),
  };
}

/** Throws when certificate and key don't belong together or can't be read. */
export function checkTls({ cert, key }: { cert: string; key: string }): void {
  const fits = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  if (!fits) throw new Error("the key is not the certificate's");
}

/** Whether the certificate is for this name or address. */
export function isNamed(cert: string, name: string): boolean {
  const certificate = new X509Certificate(cert);
  if (net.isIP(name) !== 0) return certificate.checkIP(name) !== undefined;
  return certificate.checkHost(name) !== undefined;
}

function createServer(
  { tls, limits, sockets }: ListenOptions,
  connections: Connections,
): http.Server {
  const common = {
    // Other requests to switch protocols are answered as ordinary ones: a server that doesn't know
    // a protocol may answer in HTTP/1.1 (RFC 9110 §7.8).
    shouldUpgradeCallback: (request: http.IncomingMessage) => sockets?.takes(request) ?? false,
    IncomingMessage: CountedMessage,
    ServerResponse: answerClass(connections),
    // Streams are sent in small pieces.
    noDelay: true,
    // The runtime reads 64 KiB at a time; by default it reads two such pieces of a body that has to
    // wait.
    highWaterMark: 32 * 1024,
    // `Connections` limits the time of heads, bodies and idle connections: the runtime's own limits
    // (2.9.6) end nothing, or no connection before its first request, and that of idle connections
    // starts a timer after each answer.
    requestTimeout: 0,
    headersTimeout: 0,
    keepAliveTimeout: 0,
    // `faultOfHead` checks `Host` more closely, and it's refused in our own words.
    requireHostHeader: false,
  };
  const server = tls
    // `Connections` limits handshakes too. The runtime ends them without reporting it, so its limit
    // is longer.
    ? https.createServer({ ...common, ...tls, handshakeTimeout: 4 * limits.headMs })
    : http.createServer(common);
  // By default the runtime silently drops headers from the thousandth on; `faultOfHead` refuses
  // more than 200.
  server.maxHeadersCount = 0;
  // The runtime would end them at `close`, with requests that have just arrived on them.
  server.closeIdleConnections = nothing;
  return server;
}

/**
 * Makes an answer its connection's last if the listener is closing, or if it begins before its
 * request has ended: some proxies drop the rest of such a request, and send the next caller's on the
 * same connection.
 */
function answerClass(connections: Connections) {
  return class<Request extends http.IncomingMessage> extends http.ServerResponse<Request> {
    override writeHead(status: number, second?: string | HeadFields, third?: HeadFields): this {
      if (connections.isEnding || (!this.req.complete && hasBody(this.req))) {
        connections.endAfter(this.req);
        this.shouldKeepAlive = false;
        this.setHeader("connection", "close");
      }
      return typeof second === "string"
        ? super.writeHead(status, second, third)
        : super.writeHead(status, second);
    }
  };
}

/** A request without a body is complete only after the turn in which it begins. */
function hasBody({ headers }: http.IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

type HeadFields = http.OutgoingHttpHeaders | http.OutgoingHttpHeader[];

/** Adds connections before anything reads from them. */
function takeConnections(server: http.Server, connections: Connections, isTls: boolean): void {
  const runtimes = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: net.Socket) => {
    if (!connections.admit(socket, isTls)) return;
    for (const listener of runtimes) listener.call(server, socket);
    if (!isTls) connections.ready(socket);
  });
  if (!isTls) return;
  server.prependListener("secureConnection", (socket: TlsSocket) => {
    stopBelowTls(socket);
    const { _parent: raw } = socket;
    connections.ready(socket, raw ?? undefined);
  });
  server.on("tlsClientError", (_error: Error, socket: net.Socket) => socket.destroy());
}

/** A TLS socket of the runtime, which knows the socket below it. */
type TlsSocket = net.Socket & { _parent?: net.Socket | null };

function takeRequests(
  server: http.Server,
  connections: Connections,
  options: ListenOptions & { events: ConnectionEvents },
  handle: Handle,
): void {
  const noteFailure = (thrown: unknown) =>
    options.events.error("an answer broke off: its stream failed", {
      reason: thrown instanceof Error ? thrown.name : typeof thrown,
    });
  const answerUnreadable = () => {
    const { status, headers, body } = options.refuse("malformed");
    return new Response(body, { status, headers });
  };
  const { guard = (listener) => listener } = options;
  const answer = guard(getRequestListener((request, bindings) => {
    const { incoming, outgoing } = bindings as Bindings;
    // HTTP/1.1 keeps connections open by default; callers need no header that says so.
    outgoing.removeHeader("connection");
    const answered = handle(request, incoming.socket.remoteAddress ?? "", incoming);
    const cut = (answer: Response) => cutOnFailure(answer, outgoing, noteFailure);
    return answered instanceof Promise ? answered.then(cut) : cut(answered);
  }, {
    // For requests of HTTP/1.0, which may name no host.
    hostname: "localhost",
    // All other code keeps Deno's own Request and Response.
    overrideGlobalObjects: false,
    // The cleanup would end connections whose request goes on for half a second after the answer.
    autoCleanupIncoming: false,
    errorHandler: answerUnreadable,
  }));
  const begin = (request: http.IncomingMessage, response: http.ServerResponse) => {
    const fault = faultOfHead(request) ?? faultOfTarget(request.url);
    if (fault === undefined) return void answer(request, response);
    connections.refuseFurther(request.socket);
    const { status, headers, body } = options.refuse(fault, request.url);
    const length = { "content-length": new TextEncoder().encode(body).length };
    response.writeHead(status, { ...headers, ...length, connection: "close" });
    response.end(body);
    request.resume();
  };
  const take = (request: http.IncomingMessage, response: http.ServerResponse) => {
    // Callers of HTTP/1.0 read to the close, unless a header says otherwise, and ours has none.
    if (request.httpVersionMinor === 0) response.shouldKeepAlive = false;
    const isTaken = connections.requestArrived(request, response, () => begin(request, response));
    if (!isTaken) request.resume();
  };
  server.on("request", take);
  // An unknown `Expect` header is no reason to refuse a request that we know.
  server.on("checkExpectation", take);
}

/** Handles requests for WebSockets, each of which then has its connection to itself. */
function takeSockets(
  server: http.Server,
  connections: Connections,
  { sockets, refuse: refusalOf, maxMessageBytes = defaultMessageBytes }: ListenOptions,
): void {
  if (sockets === undefined) return;
  const webSockets = createWebSockets(maxMessageBytes);
  server.on("upgrade", (request: http.IncomingMessage, socket: net.Socket, head: Uint8Array) => {
    const upgrading = connections.upgrading(socket);
    if (upgrading === undefined) return void socket.destroy();
    const fault = faultOfHead(request) ?? faultOfTarget(request.url);
    if (fault !== undefined) return upgrading.refuse(refusalOf(fault, request.url));
    sockets.take({
      request,
      refuse: upgrading.refuse,
      accept(receiver) {
        if (socket.destroyed) return undefined;
        const { working } = upgrading;
        const open = webSockets.open(request, socket, head, { receiver, working });
        if (open !== undefined) upgrading.opened(open);
        return open?.channel;
      },
    });
  });
}

const defaultMessageBytes = 1024 * 1024;

/** Refuses everything else: what can't be read, and CONNECT. Ignores what follows the last one. */
function refuseTheRest(
  server: http.Server,
  connections: Connections,
  events: ConnectionEvents,
): void {
  server.on("clientError", (error: Error & { code?: string }, socket: net.Socket) => {
    // It is no part of any request (RFC 9112 §9.6), and the last one still gets its answer.
    if (connections.isLastRequestComplete(socket)) return deafen(socket);
    if (!socket.writable) return void socket.destroy();
    const why = unreadable(error.code);
    events.ended(why, connections.peerOf(socket));
    connections.refuse(socket, why);
  });
  // Without this the runtime would silently close the connection.
  server.on("connect", (_request: http.IncomingMessage, socket: net.Socket) => {
    connections.refuse(socket, "connect");
  });
}

function nothing(): void {}

/**
 * How often `drain` looks for connections without a request. The first look is no sooner, so that
 * requests that have arrived are read before it.
 */
const idleCheckMs = 50;

/**
 * Closes the port and waits for requests under way, at most `ms`. Closes connections that clients
 * keep open without a request, including those opened in advance.
 */
function drain(server: http.Server, connections: Connections, ms: number): Promise<void> {
  return new Promise((resolve) => {
    connections.endAfterAnswers();
    const timer = setTimeout(() => connections.endAll(), ms);
    const checks = setInterval(() => connections.endWaiting(), idleCheckMs);
    server.close(() => {
      clearTimeout(timer);
      clearInterval(checks);
      connections.close().then(resolve);
    });
  });
}

interface Bindings {
  incoming: http.IncomingMessage;
  outgoing: http.ServerResponse;
}
