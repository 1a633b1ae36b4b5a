import http from "node:http";
import type { Socket } from "node:net";
import { detachParser } from "./runtime_http.ts";

/** Why a request can't be read, or is not read to its end. */
export type Unreadable =
  | "too_large"
  | "too_many_headers"
  | "too_slow"
  | "malformed"
  | "bad_host"
  | "connect"
  | "full";

/** A complete HTTP answer. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * How long, and for how many more bytes, a connection stays open after its last answer, so that a
 * caller that goes on sending can read it.
 */
const lingerMs = 1_000;
const lingerBytes = 1024 * 1024;

/**
 * Sends the refusal on a connection that reads no further request, and ends it. Bytes that still
 * arrive are discarded: the parser that had them is closed, or about to be.
 */
export function refuse(socket: Socket, refusal: Refusal): void {
  deafen(socket);
  if (!socket.writable) return void socket.destroy();
  socket.end(textOf(refusal));
  linger(socket);
}

/** Ends a connection in stages (RFC 9112 §9.6): it is closed once its caller has closed it. */
export function endInStages(socket: Socket): void {
  socket.end();
  if (socket.writableFinished) linger(socket);
  else socket.once("finish", () => linger(socket));
}

/** Gives the caller a moment to close the connection. */
function linger(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

/** Discards what arrives from now on, and removes whatever had listened for it. */
export function deafen(socket: Socket): void {
  detachParser(socket);
  socket.removeAllListeners("data");
  socket.removeAllListeners("end");
  let bytes = 0;
  socket.on("data", (piece: Uint8Array) => {
    bytes += piece.length;
    if (bytes > lingerBytes) socket.destroy();
  });
  socket.once("end", () => socket.destroySoon());
  socket.resume();
}

/** A refusal as bytes of HTTP, after which the connection is closed. */
function textOf({ status, headers, body }: Refusal): string {
  const head = Object.entries({
    ...headers,
    "content-length": new TextEncoder().encode(body).length,
  })
    .map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const reason = http.STATUS_CODES[status] ?? "";
  return `HTTP/1.1 ${status} ${reason}\r\n${head}connection: close\r\n\r\n${body}`;
}

/** Translates the runtime's code for what its parser found. */
export function unreadable(code: string | undefined): "too_large" | "malformed" {
  return code === "HPE_HEADER_OVERFLOW" ? "too_large" : "malformed";
}
