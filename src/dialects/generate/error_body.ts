import { errors } from "../../../contracts/errors.ts";
import type { Fault } from "../../domain/fault.ts";

/**
 * The `error` object inside a stream of this dialect (generate-content.md §7): the official client
 * raises only when `code` is a status of 400–599, so there it is that, as a string of digits, and
 * our own code is the `reason`.
 */
export function streamErrorBody(fault: Fault): Record<string, unknown> {
  const { status, type } = errors[fault.code];
  return {
    error: {
      code: String(status),
      message: fault.message,
      status: canonicalStatus(status),
      type,
      reason: fault.code,
    },
  };
}

/** The canonical name (google.rpc.Code) of an HTTP status. */
export function canonicalStatus(httpStatus: number): string {
  return canonicalNames[httpStatus] ?? (httpStatus < 500 ? "INVALID_ARGUMENT" : "INTERNAL");
}

const canonicalNames: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  413: "INVALID_ARGUMENT",
  416: "OUT_OF_RANGE",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};
