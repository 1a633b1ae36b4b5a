import { Fault } from "../domain/fault.ts";
import { errorReply } from "./errors.ts";
import { securityHeaders } from "./respond.ts";

const faults = {
  too_large: () => new Fault("headers_too_large"),
  too_slow: () =>
    new Fault("invalid_request", { message: "The request's headers did not arrive in time." }),
  malformed: () => new Fault("invalid_request", { message: "The request is not valid HTTP." }),
} as const;

/**
 * The answer to a request whose head could not be read: like every other, with a body and the
 * headers of all answers, though nothing is known of it, not even whether it has an id.
 */
export function refuseUnread(why: keyof typeof faults) {
  const requestId = crypto.randomUUID();
  const { status, headers, body } = errorReply(faults[why](), "service", requestId);
  return {
    status,
    headers: { ...headers, ...securityHeaders, "x-request-id": requestId },
    body: String(body),
  };
}
