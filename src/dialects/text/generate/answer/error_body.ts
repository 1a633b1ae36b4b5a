import { canonicalStatus } from "../../../../../contracts/kernel/error_bodies.ts";
import { errors } from "../../../../../contracts/kernel/errors.ts";
import type { Fault } from "../../../../shared/fault.ts";

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
