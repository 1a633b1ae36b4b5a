import type { Reply } from "../relay/reply.ts";
import type { RequestContext } from "./request_context.ts";

/** The security headers of every response (spec.md), errors and streams included. */
export const securityHeaders: Readonly<Record<string, string>> = {
  "strict-transport-security": "max-age=31536000",
  "content-security-policy": "default-src 'self'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/**
 * Beside those, on whatever a browser can be led to without a key: pages, documents, media, errors.
 * An answer to a key is fetched by a program, which none of them tells anything.
 */
export const pageHeaders: Readonly<Record<string, string>> = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "referrer-policy": "no-referrer",
};

/** A reply as the web's response, with the headers that name request and transaction. */
export function toResponse(reply: Reply, requestContext: RequestContext): Response {
  const headers = new Headers(reply.headers);
  headers.set("x-request-id", requestContext.requestId);
  if (requestContext.trace.transactionId) {
    headers.set("x-transaction-id", requestContext.trace.transactionId);
  }
  for (const [name, value] of Object.entries(securityHeaders)) headers.set(name, value);
  return new Response(reply.body as BodyInit | null, { status: reply.status, headers });
}

/** An answer of our own, as JSON; `status` is 200 when absent. */
export function jsonReply(
  value: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Reply {
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(value),
  };
}
