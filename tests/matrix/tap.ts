import type { IncomingMessage } from "node:http";
import { WebSocket as NodeSocket } from "ws";
import { joinBytes } from "../../src/base/bytes.ts";

/** One request and its answer as they went by. Header names are in lower case. */
export interface TappedCall {
  method: string;
  /** Path and query. */
  path: string;
  requestHeaders: Headers;
  requestText: string;
  status: number;
  headers: Headers;
  /** The answer's body so far, without its compression. */
  bytes(): Uint8Array;
  text(): string;
}

/** A WebSocket as it went by, with the texts of its frames. */
export interface TappedSocket {
  /** Path and query. */
  path: string;
  requestHeaders: Headers;
  sent: string[];
  received: string[];
}

/** Listens between two parties: everything is forwarded unchanged, and recorded. */
export interface Tap {
  /** Stands for the address that is listened to. */
  readonly url: string;
  /** The calls since the last time, oldest first. */
  take(): TappedCall[];
  /** The WebSockets that were opened since the last time, oldest first. */
  takeSockets(): TappedSocket[];
  close(): Promise<void>;
}

/** Starts a tap in front of `target`, an address that may have a path. */
export function startTap(target: string): Tap {
  const { origin, pathname } = new URL(target);
  let calls: TappedCall[] = [];
  let sockets: TappedSocket[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) =>
      request.headers.get("upgrade")?.toLowerCase() === "websocket"
        ? passSocket(request, origin, (socket) => sockets.push(socket))
        : pass(request, origin, (call) => calls.push(call)),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}${pathname === "/" ? "" : pathname}`,
    take() {
      const taken = calls;
      calls = [];
      return taken;
    },
    takeSockets() {
      const taken = sockets;
      sockets = [];
      return taken;
    },
    close: () => server.shutdown(),
  };
}

async function pass(
  request: Request,
  origin: string,
  keep: (call: TappedCall) => void,
): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const requestText = await request.text();
  const headers = new Headers(request.headers);
  headers.delete("host");
  headers.delete("content-length");
  const answer = await fetch(origin + pathname + search, {
    method: request.method,
    headers,
    redirect: "manual",
    signal: request.signal,
    ...(requestText === "" ? {} : { body: requestText }),
  });
  const pieces: Uint8Array[] = [];
  const bytes = () => joinBytes(pieces);
  keep({
    method: request.method,
    path: pathname + search,
    requestHeaders: request.headers,
    requestText,
    status: answer.status,
    headers: answer.headers,
    bytes,
    text: () => new TextDecoder().decode(bytes()),
  });
  const listen = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(piece, controller) {
      pieces.push(piece);
      controller.enqueue(piece);
    },
  });
  const answerHeaders = new Headers(answer.headers);
  // `fetch` has taken the compression off.
  answerHeaders.delete("content-encoding");
  answerHeaders.delete("content-length");
  return new Response(answer.body?.pipeThrough(listen) ?? null, {
    status: answer.status,
    headers: answerHeaders,
  });
}

/** What one side's implementation of WebSockets says to the other, hop by hop. */
const hopHeaders = /^(?:host|connection|upgrade|content-length|sec-websocket-.*)$/;

/** Opens the far side first: its refusal of the upgrade is an answer like any other. */
function passSocket(
  request: Request,
  origin: string,
  keep: (socket: TappedSocket) => void,
): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const tapped: TappedSocket = {
    path: pathname + search,
    requestHeaders: request.headers,
    ...{ sent: [], received: [] },
  };
  const headers = [...request.headers].filter(([name]) => !hopHeaders.test(name));
  const far = new NodeSocket(origin.replace(/^http/, "ws") + tapped.path, {
    headers: Object.fromEntries(headers),
    perMessageDeflate: false,
  });
  const opened = Promise.withResolvers<Response>();
  far.on("error", (error: Error) => opened.reject(error));
  far.on("unexpected-response", (_: unknown, { statusCode = 502 }: IncomingMessage) => {
    far.terminate();
    opened.resolve(new Response(null, { status: statusCode }));
  });
  far.on("open", () => {
    const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
    keep(tapped);
    const early: string[] = [];
    const pass = (text: string) => {
      tapped.received.push(text);
      if (socket.readyState === WebSocket.CONNECTING) early.push(text);
      else if (socket.readyState === WebSocket.OPEN) socket.send(text);
    };
    socket.onopen = () => early.forEach((text) => socket.send(text));
    socket.onmessage = ({ data }) => {
      tapped.sent.push(String(data));
      far.send(String(data));
    };
    socket.onerror = () => far.close();
    socket.onclose = () => far.close();
    far.on("message", (data: Uint8Array) => pass(new TextDecoder().decode(data)));
    far.on("close", () => socket.close());
    opened.resolve(response);
  });
  return opened.promise;
}
