import { createPrivateKey, X509Certificate } from "node:crypto";
import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import { createAdaptorServer } from "@hono/node-server";

/** Answers a request; `remoteHost` is the address of the peer. */
export type Handle = (request: Request, remoteHost: string) => Response | Promise<Response>;

/** An open port. */
export interface Listener {
  readonly port: number;
  /** Takes no new requests and resolves when those under way are answered, at most after `ms`. */
  drain(ms: number): Promise<void>;
  /** Ends at once. */
  abort(): Promise<void>;
}

/** Why a request can't be read: its head is too large, comes too slowly, or is no HTTP. */
export type Unreadable = "too_large" | "too_slow" | "malformed";

export interface ListenOptions {
  host: string;
  port: number;
  /** What who sends such a request is told, before the connection is closed. */
  refuse(why: Unreadable): Refusal;
  /** Stands before what answers requests, and may answer in its place. */
  guard?: (listener: http.RequestListener) => http.RequestListener;
  /** Certificate and key in PEM; the listener speaks HTTPS then. */
  tls?: { cert: string; key: string };
}

/**
 * Opens a port. On `node:http`, since `Deno.serve` (2.9.6) does not notice a caller who leaves
 * before the answer begins unless head and body came in one piece: the vendor would be paid for
 * nobody. Rejects with the system's error (`code` EADDRINUSE, EACCES, …) when it can't listen.
 */
export async function openListener(options: ListenOptions, handle: Handle): Promise<Listener> {
  const { guard = (listener) => listener } = options;
  const plain = (settings: http.ServerOptions, listener: http.RequestListener) =>
    http.createServer(settings, guard(listener));
  const secure = (settings: https.ServerOptions, listener: http.RequestListener) =>
    https.createServer(settings, guard(listener));
  const server = createAdaptorServer({
    fetch: (request, bindings) => {
      const { incoming, outgoing } = bindings as Bindings;
      // Keeping the connection is what HTTP/1.1 does anyway; callers need no headers that say so.
      outgoing.removeHeader("connection");
      return handle(request, incoming.socket.remoteAddress ?? "");
    },
    // Deno's own Request and Response stay as they are for everybody else.
    overrideGlobalObjects: false,
    ...(options.tls
      ? {
        createServer: secure as typeof https.createServer,
        serverOptions: { ...common, ...options.tls },
      }
      : { createServer: plain as typeof http.createServer, serverOptions: common }),
  }) as http.Server;
  const busy = new BusySockets(server, options.tls ? "secureConnection" : "connection");
  server.on("clientError", (error: Error & { code?: string }, socket: Socket) => {
    refuseUnread(socket, busy.has(socket), () => options.refuse(unreadable(error.code)));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port: options.port, host: options.host, backlog }, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    drain: (ms) => close(server, busy, ms),
    abort: () => close(server, busy, 0),
  };
}

export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Throws when certificate and key don't belong together or can't be read. */
export function checkTls({ cert, key }: { cert: string; key: string }): void {
  const fits = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  if (!fits) throw new Error("the key is not the certificate's");
}

/** Streams leave in small pieces; idle connections of clients' pools outlive the usual proxy's. */
const common = { noDelay: true, keepAliveTimeout: 75_000, requestTimeout: 0 };

/**
 * Connections that wait to be accepted. Beyond them the kernel drops attempts unsaid, which callers
 * repeat after 1, 3, 7 and 15 s. The usual 511 are few for a crowd.
 */
const backlog = 4_096;

/** What is said of a request that was never read is still read by who sends on for a while. */
const lingerMs = 1_000;

/** Ends a connection whose next request can't be read; answers under way are cut, as they must be. */
function refuseUnread(socket: Socket, isBusy: boolean, refuse: () => Refusal): void {
  if (isBusy) return void socket.destroy();
  // What is sent on is wrong again; it was refused already.
  if (!socket.writable) return;
  const { status, headers, body } = refuse();
  const head = Object.entries({
    ...headers,
    "content-length": new TextEncoder().encode(body).length,
  })
    .map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const reason = http.STATUS_CODES[status] ?? "";
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${head}connection: close\r\n\r\n${body}`);
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

function unreadable(code: string | undefined): Unreadable {
  if (code === "HPE_HEADER_OVERFLOW") return "too_large";
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? "too_slow" : "malformed";
}

/** How often connections are looked for whose last answer has ended meanwhile. */
const idleLookMs = 50;

/**
 * Connections that a client keeps open without a request are closed, those it opened ahead too:
 * `closeIdleConnections` takes them for busy, and the stop would wait for them in vain.
 */
function close(server: http.Server, busy: BusySockets, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), ms);
    const looking = setInterval(() => busy.closeOthers(), idleLookMs);
    server.close(() => {
      clearTimeout(timer);
      clearInterval(looking);
      resolve();
    });
    busy.closeOthers();
  });
}

/** Which connections have a request under way. */
class BusySockets {
  readonly #requests = new Map<Socket, number>();

  constructor(server: http.Server, event: "connection" | "secureConnection") {
    server.on(event, (socket: Socket) => {
      this.#requests.set(socket, 0);
      socket.once("close", () => this.#requests.delete(socket));
    });
    server.on("request", ({ socket }: http.IncomingMessage, response: http.ServerResponse) => {
      this.#count(socket, 1);
      response.once("close", () => this.#count(socket, -1));
    });
  }

  has(socket: Socket): boolean {
    return (this.#requests.get(socket) ?? 0) > 0;
  }

  closeOthers(): void {
    for (const [socket, requests] of this.#requests) if (requests === 0) socket.destroy();
  }

  #count(socket: Socket, change: number): void {
    const requests = this.#requests.get(socket);
    if (requests !== undefined) this.#requests.set(socket, requests + change);
  }
}

interface Bindings {
  incoming: http.IncomingMessage;
  outgoing: http.ServerResponse;
}
