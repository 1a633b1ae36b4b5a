import { createPrivateKey, X509Certificate } from "node:crypto";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Clock } from "../base/clock.ts";
import type { SocketHandler } from "../base/frame_channel.ts";
import { takeEachTurn } from "./accept_turn.ts";
import { AcceptWatch } from "./accept_watch.ts";
import { Connections } from "./connections.ts";
import { CountedMessage } from "./counted_message.ts";
import { acceptTargetOf, listen } from "./accept_target.ts";
import { faultOfHead, faultOfTarget } from "./head.ts";
import type { ConnectionLimits } from "./limits.ts";
import { ConnectionEvents, type ConnectionListeners } from "./connection_events.ts";
import { type Refusal, type Unreadable, unreadable } from "./refusal.ts";
import { keepNoParsers, listNoRequests } from "./runtime_http.ts";
import { createWebSockets } from "./web_socket.ts";

/** Answers a request; `remoteHost` is the address of the peer, `incoming` what a guard knows. */
export type Handle = (
  request: Request,
  remoteHost: string,
  incoming: object,
) => Response | Promise<Response>;

/** An open port. */
export interface Listener {
  readonly port: number;
  /** Connections at the moment. */
  readonly connections: number;
  /** Who hears from now on what connections were refused or ended. */
  tell(hearers: ConnectionListeners): void;
  /** Takes no new requests and resolves when those under way are answered, at most after `ms`. */
  drain(ms: number): Promise<void>;
  /** Ends at once. */
  abort(): Promise<void>;
}

export interface ListenOptions {
  host: string;
  port: number;
  /**
   * What who sends such a request is told, before the connection is closed; `target` as it was
   * sent, where it could be read.
   */
  refuse(why: Unreadable, target?: string): Refusal;
  /** Stands before what answers requests, and may answer in its place. */
  guard?: ((listener: http.RequestListener) => http.RequestListener) | undefined;
  /** Answers requests for WebSockets; without it they are ordinary requests. */
  sockets?: SocketHandler | undefined;
  /** The largest message of a WebSocket. */
  maxMessageBytes?: number | undefined;
  /** Certificate and key in PEM; the listener speaks HTTPS then. */
  tls?: { cert: string; key: string };
  limits: ConnectionLimits;
  clock: Clock;
  /** How many processes listen on the port together; 1 when absent. */
  sharers?: number;
  /** Connections that descriptors allow, where that is known to be few. */
  mostByDescriptors?: number;
  /** Called twice a second as long as the port takes connections. */
  onAlive?(): void;
}

/**
 * Opens a port. On `node:http`, since `Deno.serve` (2.9.6) does not notice a caller who leaves
 * before the answer begins unless head and body came in one piece: the vendor would be paid for
 * nobody. Its parsers are never shared, and what it leaves out (time limits, caps, an error of
 * accepting) is done here. Rejects with the system's error (`code` EADDRINUSE, EACCES, …) when it
 * can't listen.
 */
export async function openListener(options: ListenOptions, handle: Handle): Promise<Listener> {
  keepNoParsers();
  const { limits, clock } = options;
  const events = new ConnectionEvents(clock);
  const connections = new Connections({ limits, clock, events, refuse: options.refuse });
  connections.most = Math.min(limits.most, options.mostByDescriptors ?? Infinity);
  const server = createServer(options);
  takeConnections(server, connections, options.tls !== undefined);
  takeRequests(server, connections, options, handle);
  takeSockets(server, connections, options);
  refuseTheRest(server, connections, events);
  try {
    await listen(server, options);
  } catch (thrown) {
    connections.close();
    throw thrown;
  }
  listNoRequests(server);
  // A later one, as of opening anew, is its caller's; without a listener it would end the process.
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
    tell: (hearers) => events.tell(hearers),
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

function createServer({ tls, limits, sockets }: ListenOptions): http.Server {
  const common = {
    // What is no request for a WebSocket of ours is an ordinary one: who doesn't know a protocol may
    // answer in HTTP/1.1 (RFC 9110 §7.8).
    shouldUpgradeCallback: (request: http.IncomingMessage) => sockets?.takes(request) ?? false,
    IncomingMessage: CountedMessage,
    // Streams leave in small pieces.
    noDelay: true,
    // The runtime reads 64 KiB at a time; by default it reads two such pieces of a body that waits.
    highWaterMark: 32 * 1024,
    // Heads, bodies and idle connections are timed in `Connections`: what the runtime has for it
    // (2.9.6) ends nothing, or not what stands before its first request.
    requestTimeout: 0,
    headersTimeout: 0,
    keepAliveTimeout: limits.idleMs,
    // Said in our own words, and looked at more closely.
    requireHostHeader: false,
  };
  const server = tls
    // Handshakes are timed in `Connections` too; the runtime's own end is silent, so it comes later.
    ? https.createServer({ ...common, ...tls, handshakeTimeout: 4 * limits.headMs })
    : http.createServer(common);
  // The runtime leaves headers out silently from the thousandth on; more than 200 are refused.
  server.maxHeadersCount = 0;
  return server;
}

/** Counts connections in before anything reads them. */
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
    const { _parent: raw } = socket;
    connections.ready(socket, raw ?? undefined);
  });
  server.on("tlsClientError", (_error: Error, socket: net.Socket) => socket.destroy());
}

/** What the runtime's TLS sockets know of the socket below. */
type TlsSocket = net.Socket & { _parent?: net.Socket | null };

function takeRequests(
  server: http.Server,
  connections: Connections,
  options: ListenOptions,
  handle: Handle,
): void {
  const answerUnreadable = () => {
    const { status, headers, body } = options.refuse("malformed");
    return new Response(body, { status, headers });
  };
  const { guard = (listener) => listener } = options;
  const answer = guard(getRequestListener((request, bindings) => {
    const { incoming, outgoing } = bindings as Bindings;
    // Keeping the connection is what HTTP/1.1 does anyway; callers need no headers that say so.
    outgoing.removeHeader("connection");
    return handle(request, incoming.socket.remoteAddress ?? "", incoming);
  }, {
    // Of requests of HTTP/1.0, which may name none.
    hostname: "localhost",
    // Deno's own Request and Response stay as they are for everybody else.
    overrideGlobalObjects: false,
    // It would end connections whose request goes on for half a second after the answer.
    autoCleanupIncoming: false,
    errorHandler: answerUnreadable,
  }));
  const take = (request: http.IncomingMessage, response: http.ServerResponse) => {
    if (!connections.requestBegan(request, response)) return void request.resume();
    const fault = faultOfHead(request) ?? faultOfTarget(request.url);
    if (fault === undefined) return void answer(request, response);
    connections.refuseFurther(request.socket);
    const { status, headers, body } = options.refuse(fault, request.url);
    const length = { "content-length": new TextEncoder().encode(body).length };
    response.writeHead(status, { ...headers, ...length, connection: "close" });
    response.end(body);
    request.resume();
  };
  server.on("request", take);
  // An expectation that we don't know is no reason to refuse what we do.
  server.on("checkExpectation", take);
}

/** Requests for WebSockets, each on a connection of its own from then on. */
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

/** What is no request that anybody answers. */
function refuseTheRest(
  server: http.Server,
  connections: Connections,
  events: ConnectionEvents,
): void {
  server.on("clientError", (error: Error & { code?: string }, socket: net.Socket) => {
    if (!socket.writable) return void socket.destroy();
    const why = unreadable(error.code);
    events.ended(why, connections.peerOf(socket));
    connections.refuse(socket, why);
  });
  // Without this the runtime would close the connection in silence.
  server.on("connect", (_request: http.IncomingMessage, socket: net.Socket) => {
    connections.refuse(socket, "connect");
  });
}

/** How often connections are looked for whose last answer has ended meanwhile. */
const idleLookMs = 50;

/** Connections that a client keeps open without a request are closed, those it opened ahead too. */
function drain(server: http.Server, connections: Connections, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => connections.endAll(), ms);
    const looking = setInterval(() => connections.endWaiting(), idleLookMs);
    server.close(() => {
      clearTimeout(timer);
      clearInterval(looking);
      connections.close();
      resolve();
    });
    connections.endWaiting();
  });
}

interface Bindings {
  incoming: http.IncomingMessage;
  outgoing: http.ServerResponse;
}
