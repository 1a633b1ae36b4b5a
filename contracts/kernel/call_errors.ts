import type { ErrorCode } from "./errors.ts";

/** Error codes of calls to vendors, in every dialect. */
export const callErrors: readonly ErrorCode[] = [
  "invalid_request",
  "insufficient_credits",
  "spend_cap_exceeded",
  "model_not_found",
  "vendor_not_configured",
  "unsupported_parameter",
  "context_length_exceeded",
  "content_policy_violation",
  "idempotency_conflict",
  "invalid_vendor_api_key",
  "vendor_quota_exhausted",
  "upstream_forbidden",
  "upstream_rate_limited",
  "upstream_authentication_failed",
  "upstream_quota_exhausted",
  "upstream_error",
  "upstream_unreachable",
  "upstream_invalid_response",
  "upstream_invalid_tool_call",
  "upstream_stream_truncated",
  "upstream_timeout",
  "upstream_overloaded",
];

/** Error codes of token counts. A count costs nothing, so a repeat simply counts again. */
export const countErrors = callErrors.filter((code) => code !== "idempotency_conflict");
