import type { ErrorDialect } from "../../contracts/kernel/contract.ts";
import { Fault } from "../shared/fault.ts";
import { errorReply } from "./errors.ts";
import { securityHeaders } from "./respond.ts";

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
      message: "Host: this service does not know itself by this name (BASE_URL says it).",
    }),
  connect: () =>
    new Fault("invalid_request", {
      message: "This service is no proxy: it takes no CONNECT.",
    }),
  full: () =>
    new Fault("overloaded", {
      message: "The service has no room for another connection. Retry later.",
      retryAfterSeconds: 5,
    }),
} as const;

/**
 * The answer to a request that was not read, or not to its end: like every other, with a body and
 * the headers of all answers, though nothing is known of it but its target at most, not even
 * whether it has an id.
 */
export function refuseUnread(why: keyof typeof faults, dialect: ErrorDialect = "service") {
  const requestId = crypto.randomUUID();
  const { status, headers, body } = errorReply(faults[why](), dialect, requestId);
  return {
    status,
    headers: {
      ...headers,
      ...securityHeaders,
      "x-request-id": requestId,
      ...(dialect === "messages" ? { "request-id": requestId } : {}),
    },
    body: String(body),
  };
}

/** The path of a request's target as it was sent: in origin form or, to a proxy, in absolute form. */
export function pathOfTarget(target: string): string {
  return target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "").split(/[?#]/, 1)[0]!;
}
