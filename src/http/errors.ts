import { errorBody } from "../../contracts/kernel/error_bodies.ts";
import { type ErrorCode, errors, lastingErrors } from "../../contracts/kernel/errors.ts";
import type { ErrorDialect } from "../../contracts/kernel/contract.ts";
import { Fault } from "../shared/fault.ts";
import type { Reply } from "../relay/reply.ts";

/** The only encoder of error responses: our three fields, and those of the dialect. */
export function errorReply(fault: Fault, dialect: ErrorDialect, requestId: string): Reply {
  const { code, message, param } = fault;
  const headers: Record<string, string> = { "content-type": "application/json" };
  const retrySeconds = fault.retryAfterSeconds ?? defaultRetrySeconds[code];
  if (retrySeconds !== undefined) {
    headers["retry-after"] = String(Math.max(1, Math.ceil(retrySeconds)));
  }
  const shouldRetry = lastingErrors.has(code) ? false : fault.vendorRetryAdvice;
  if (shouldRetry !== undefined && !fault.isOneOfSeveral) {
    headers["x-should-retry"] = String(shouldRetry);
  }
  if (fault.vendorRequestId !== undefined) headers["x-vendor-request-id"] = fault.vendorRequestId;
  const details = fault.details ?? fault.vendorDetails;
  const body = JSON.stringify(errorBody({ code, message, param, details, requestId }, dialect));
  return { status: errors[code].status, headers, body };
}

/** Default `Retry-After` of our own refusals. */
const defaultRetrySeconds: Readonly<Partial<Record<ErrorCode, number>>> = {
  overloaded: 1,
  store_unavailable: 2,
};

export function asFault(thrown: unknown): Fault {
  return thrown instanceof Fault ? thrown : new Fault("internal_error", { cause: thrown });
}
