import { errors } from "../../../../../contracts/kernel/errors.ts";
import type { Fault } from "../../../../shared/fault.ts";
import type { JsonRecord } from "../../../kernel/json.ts";
import { readVendorError, type VendorError } from "../../../kernel/vendor_error.ts";

/**
 * Reads the failure that an answer reports: an `error` event, flat or nested, or a response with
 * status `failed`. They have no HTTP status; the error code's is used.
 */
export function readFailure(json: JsonRecord): VendorError {
  const error = readVendorError(json, undefined);
  // The type of a flat error event is just `error`.
  const type = error.type === "error" ? undefined : error.type;
  const status = error.status ?? statusOf(error.code) ?? statusOf(type);
  return { ...error, type, status };
}

/**
 * Returns the HTTP status of an error code: of the dialect's failure codes, and of the vendor's
 * HTTP error codes, which occur too.
 */
function statusOf(code: string | undefined): number | undefined {
  switch (code) {
    case undefined:
      return undefined;
    case "rate_limit_exceeded":
    case "insufficient_quota":
    case "tokens":
    case "requests":
      return 429;
    case "server_error":
    case "vector_store_timeout":
      return 500;
    case "server_is_overloaded":
    case "slow_down":
      return 503;
    case "invalid_prompt":
    case "bio_policy":
    case "misalignment_policy_violation":
    case "data_residency_mismatch":
    case "context_length_exceeded":
    case "failed_to_download_image":
      return 400;
  }
  return /image/.test(code) ? 400 : undefined;
}

/** Writes the `error` of a failed response: our code, and the three fields that every error has. */
export function writeFailure(fault: Fault): Record<string, unknown> {
  return {
    code: fault.code,
    message: fault.message,
    type: errors[fault.code].type,
    param: fault.param ?? null,
  };
}
