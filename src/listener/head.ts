import type { IncomingMessage } from "node:http";
import type { Unreadable } from "./refusal.ts";

/** A client sends a dozen, with proxies in front two dozen. */
const maxHeaders = 200;

/**
 * Returns what is wrong with a head that the parser accepted: more headers than anybody needs, not
 * exactly one well-formed `Host` (RFC 9112 §3.2; HTTP/1.0 may have none), or another transfer
 * coding than `chunked`, which the parser would skip or fail at only after the request has begun.
 */
export function faultOfHead(
  request: Pick<IncomingMessage, "rawHeaders" | "httpVersionMinor">,
): Unreadable | undefined {
  const { rawHeaders } = request;
  if (rawHeaders.length > 2 * maxHeaders) return "too_many_headers";
  let host: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 17 && name.toLowerCase() === "transfer-encoding") {
      if (rawHeaders[at + 1]!.toLowerCase() !== "chunked") return "malformed";
      continue;
    }
    if (name.length !== 4 || name.toLowerCase() !== "host") continue;
    if (host !== undefined) return "bad_host";
    host = rawHeaders[at + 1]!;
  }
  if (host === undefined) return request.httpVersionMinor === 0 ? undefined : "bad_host";
  return isHost(host) ? undefined : "bad_host";
}

/** A name, an IPv4 or a bracketed IPv6 address, with a port or without. */
function isHost(host: string): boolean {
  const match = /^(?:[\w~-]+(?:\.[\w~-]+)*\.?|\[[\da-fA-F:.]{2,45}\])(?::(\d{1,5}))?$/.exec(host);
  return match !== null && host.length <= 300 && Number(match[1] ?? 0) <= 65_535;
}

/**
 * Returns what is wrong with a request's target, which must be a path or an absolute HTTP URL, as
 * sent to proxies (RFC 9112 §3.2). `*`, which asks about the server as a whole, is not supported.
 */
export function faultOfTarget(target = ""): Unreadable | undefined {
  const isPath = target.startsWith("/") && !target.includes("\\");
  return isPath || /^https?:/i.test(target) && URL.canParse(target) ? undefined : "malformed";
}
