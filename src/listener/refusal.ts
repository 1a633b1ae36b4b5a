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

/** An answer that is made of nothing. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What is said of a request that was never read is still read by who sends on for a while. */
const lingerMs = 1_000;
const lingerBytes = 1024 * 1024;

/**
 * Says why on a connection that reads no further request, and ends it. Bytes that still come reach
 * nothing: the parser that had them is closed, or about to be.
 */
export function refuse(socket: Socket, refusal: Refusal): void {
  deafen(socket);
  if (!socket.writable) return void socket.destroy();
  socket.end(textOf(refusal));
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

/** From now on what comes is thrown away, whatever had listened for it. */
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

/** The runtime's word for what its parser found. */
export function unreadable(code: string | undefined): "too_large" | "malformed" {
  return code === "HPE_HEADER_OVERFLOW" ? "too_large" : "malformed";
}
