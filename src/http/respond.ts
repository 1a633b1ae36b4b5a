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

/**
 * The headers of one answer, as the flat list that `node:http` takes. There are some twenty: a
 * linear search is as fast as a Map, which would have to be built and flattened for each answer.
 */
export class HeaderList implements AnswerHeaders {
  /** Names and values, alternating. */
  readonly flat: string[] = [];

  constructor(headers: Readonly<Record<string, string>>) {
    this.setAll(headers);
  }

  has(name: string): boolean {
    return this.#find(name) >= 0;
  }

  get(name: string): string | undefined {
    const at = this.#find(name);
    return at < 0 ? undefined : this.flat[at + 1];
  }

  set(name: string, value: string): void {
    const at = this.#find(name);
    if (at < 0) this.flat.push(name, value);
    else this.flat[at + 1] = value;
  }

  setAll(headers: Readonly<Record<string, string>>): void {
    for (const name in headers) this.set(name, headers[name]!);
  }

  #find(name: string): number {
    for (let at = 0; at < this.flat.length; at += 2) if (this.flat[at] === name) return at;
    return -1;
  }
}

/** Sets the ids of request and transaction, and the security headers. */
export function nameAnswer(
  headers: Pick<AnswerHeaders, "set">,
  { requestId, trace: { transactionId } }: RequestContext,
): void {
  headers.set("x-request-id", requestId);
  if (transactionId) headers.set("x-transaction-id", transactionId);
  for (const name in securityHeaders) headers.set(name, securityHeaders[name]!);
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
  return { ...jsonTextReply(JSON.stringify(value), headers), status };
}

/** A reply of JSON that is already text, with status 200. */
export function jsonTextReply(body: string, headers: Record<string, string> = {}): Reply {
  return { status: 200, headers: { "content-type": "application/json", ...headers }, body };
}
