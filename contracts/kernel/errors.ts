/**
 * The one table of errors: code → HTTP status, type and public text.
 * Adding an error is adding a row. Callers script against types and codes: they stay.
 */
export const errors = {
  // 400: the request is wrong
  invalid_request: row(400, "invalid_request_error", "The request is not valid."),
  invalid_json: row(400, "invalid_request_error", "The request body is not valid JSON."),
  missing_required_field: row(400, "invalid_request_error", "A required field is missing."),
  invalid_value: row(400, "invalid_request_error", "A field has a value that is not allowed."),
  unsupported_parameter: row(
    400,
    "invalid_request_error",
    "A field cannot be carried to the chosen vendor.",
  ),
  context_length_exceeded: row(
    400,
    "invalid_request_error",
    "The prompt is longer than the model's context.",
  ),
  content_policy_violation: row(
    400,
    "invalid_request_error",
    "The vendor refused the prompt under its content policy.",
  ),
  previous_response_not_found: row(
    400,
    "invalid_request_error",
    "No stored response has the id given as previous_response_id.",
  ),
  previous_response_unfinished: row(
    400,
    "invalid_request_error",
    "The background response given as previous_response_id has not ended.",
  ),
  // 401
  missing_api_key: row(
    401,
    "authentication_error",
    "No API key was given. Send the header 'Authorization: Bearer <API_KEY>' with a key that starts with 'dmt_'.",
  ),
  invalid_api_key: row(
    401,
    "authentication_error",
    "Invalid API key. The key is unknown, malformed, expired or revoked.",
  ),
  invalid_vendor_api_key: row(
    401,
    "authentication_error",
    "The vendor refused the vendor key that this call used.",
  ),
  // 402
  insufficient_credits: row(402, "billing_error", "The credit balance does not cover this call."),
  spend_cap_exceeded: row(402, "billing_error", "This key has reached its spend cap."),
  // 403
  permission_denied: row(
    403,
    "permission_error",
    "This API key does not have permission for this call.",
  ),
  upstream_forbidden: row(403, "permission_error", "The vendor refused this call."),
  // 404
  endpoint_not_found: row(404, "not_found_error", "No such endpoint."),
  model_not_found: row(
    404,
    "not_found_error",
    "No such model. Query the models endpoint for current names.",
  ),
  vendor_not_configured: row(
    404,
    "not_found_error",
    "This vendor has no key on this service. Store a vendor key or use the dual-key form.",
  ),
  export_not_found: row(404, "not_found_error", "No such export."),
  deletion_not_found: row(404, "not_found_error", "No such deletion request."),
  eval_not_found: row(404, "not_found_error", "No such evaluation run."),
  media_not_found: row(404, "not_found_error", "No such media."),
  response_not_found: row(404, "not_found_error", "No such stored response."),
  // 408, 409, 413, 416
  request_timeout: row(408, "timeout_error", "The request did not arrive in time."),
  idempotency_conflict: row(
    409,
    "invalid_request_error",
    "This X-Request-ID was already used with another request body.",
  ),
  export_not_ready: row(409, "invalid_request_error", "The export is not finished yet."),
  request_too_large: row(413, "invalid_request_error", "The request body is too large."),
  range_not_satisfiable: row(
    416,
    "invalid_request_error",
    "The requested range is beyond the end of the file.",
  ),
  // 431
  headers_too_large: row(
    431,
    "invalid_request_error",
    "The request's headers are larger than 16 KiB.",
  ),
  // 429
  rate_limit_exceeded: row(
    429,
    "rate_limit_error",
    "The rate limit of this account is exceeded. Retry after the time in Retry-After.",
  ),
  upstream_rate_limited: row(429, "rate_limit_error", "The vendor limits the rate of these calls."),
  vendor_quota_exhausted: row(
    429,
    "rate_limit_error",
    "The quota of the vendor key that this call used is exhausted.",
  ),
  // 5xx
  internal_error: row(500, "api_error", "The service failed. The failure has been logged."),
  not_implemented: row(501, "api_error", "This endpoint is not implemented yet."),
  upstream_error: row(502, "upstream_error", "The vendor failed to answer this call."),
  upstream_authentication_failed: row(
    502,
    "upstream_error",
    "The vendor refused the service's own key. The service's operator has to replace it.",
  ),
  upstream_unreachable: row(502, "upstream_error", "The vendor could not be reached."),
  upstream_invalid_response: row(
    502,
    "upstream_error",
    "The vendor's answer could not be understood.",
  ),
  upstream_stream_truncated: row(
    502,
    "upstream_error",
    "The vendor's stream ended before the answer was complete.",
  ),
  upstream_invalid_tool_call: row(
    502,
    "upstream_error",
    "The model produced a tool call that is not valid.",
  ),
  upstream_overloaded: row(503, "overloaded_error", "The vendor is overloaded. Retry later."),
  upstream_quota_exhausted: row(
    503,
    "upstream_error",
    "The service's own quota at the vendor is exhausted. The service's operator has to raise it.",
  ),
  overloaded: row(503, "overloaded_error", "The service is overloaded. Retry later."),
  store_unavailable: row(
    503,
    "overloaded_error",
    "The service's store cannot be reached. Retry later.",
  ),
  upstream_timeout: row(504, "timeout_error", "The vendor did not answer in time."),
} as const;

/** One row of the table. `message` is public: it may be shown to any caller. */
export interface ErrorRow {
  readonly status: ErrorStatus;
  readonly type: ErrorType;
  readonly message: string;
}

export type ErrorCode = keyof typeof errors;

export type ErrorStatus =
  | 400
  | 401
  | 402
  | 403
  | 404
  | 408
  | 409
  | 413
  | 416
  | 429
  | 431
  | 500
  | 501
  | 502
  | 503
  | 504;

export type ErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "billing_error"
  | "permission_error"
  | "not_found_error"
  | "rate_limit_error"
  | "timeout_error"
  | "upstream_error"
  | "api_error"
  | "overloaded_error";

function row(status: ErrorStatus, type: ErrorType, message: string): ErrorRow {
  return { status, type, message };
}
