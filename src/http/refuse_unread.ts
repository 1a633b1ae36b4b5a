import type { ErrorDialect } from "../../contracts/kernel/contract.ts";
import { Fault } from "../shared/fault.ts";
import { errorReply } from "./errors.ts";
import { securityHeaders } from "./respond.ts";
import { requestIdHeaders } from "../../contracts/kernel/client_headers.ts";

const faults = {
  too_large: () => new Fault("headers_too_large"),
  too_many_headers: () =>
    new Fault("headers_too_large", { message: "The request has more than 200 headers." }),
  too_slow: () => new Fault("request_timeout"),
  malformed: () => new Fault("invalid_request", { message: "The request is not valid HTTP." }),
  bad_host: () =>
    new Fault("invalid_request", {
      param: "Host",
      message: "Host: expected exactly one header with a host name, as HTTP/1.1 requires it.",
    }),
  unknown_host: () =>
    new Fault("invalid_request", {
      param: "Host",
      message: "Host: this service isn't known by this name; set BASE_URL to its URL.",
    }),
  connect: () =>
    new Fault("invalid_request", {
      message: "This service is not a proxy and doesn't support CONNECT.",
    }),
  full: () =>
    new Fault("overloaded", {
      message: "The service has too many open connections. Retry later.",
      retryAfterSeconds: 5,
    }),
} as const;

/**
 * Returns the response to a request that was not fully read. It has a body and headers like any
 * other, although at most the request's target is known: the id is a new one.
 */
export function refuseUnread(why: keyof typeof faults, dialect: ErrorDialect = "service") {
  const requestId = crypto.randomUUID();
  const { status, headers, body } = errorReply(faults[why](), dialect, requestId);
  return {
    status,
    headers: {
      ...headers,
      ...securityHeaders,
      ...requestIdHeaders(requestId, dialect),
    },
    body: String(body),
  };
}

/** Returns the path of a request target in origin form or (as sent to a proxy) absolute form. */
export function pathOfTarget(target: string): string {
  return target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "").split(/[?#]/, 1)[0]!;
}
