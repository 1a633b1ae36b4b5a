import type { Reply } from "../relay/reply.ts";
import type { RequestContext } from "./request_context.ts";

/** The security headers of every response, including errors and streams. */
export const securityHeaders: Readonly<Record<string, string>> = {
  "strict-transport-security": "max-age=31536000",
  "content-security-policy": "default-src 'self'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/**
 * Further headers for everything that a browser can reach without a key: pages, documents, media,
 * errors. Responses to a key go to programs, which ignore them.
 */
export const pageHeaders: Readonly<Record<string, string>> = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "referrer-policy": "no-referrer",
};

/** Headers of an answer, by lower-case names. */
export interface AnswerHeaders {
  has(name: string): boolean;
  get(name: string): string | null | undefined;
  set(name: string, value: string): unknown;
}

/** The headers that name request and transaction, and those of security. */
export function nameAnswer(
  headers: Pick<AnswerHeaders, "set">,
  { requestId, trace: { transactionId } }: RequestContext,
): void {
  headers.set("x-request-id", requestId);
  if (transactionId) headers.set("x-transaction-id", transactionId);
  for (const [name, value] of Object.entries(securityHeaders)) headers.set(name, value);
}

export function toResponse(reply: Reply, requestContext: RequestContext): Response {
  const headers = new Headers(reply.headers);
  nameAnswer(headers, requestContext);
  return new Response(reply.body as BodyInit | null, { status: reply.status, headers });
}

/** A JSON reply; default status 200. */
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
