/**
 * The table of all errors: code → HTTP status, type and public text. A new error needs only a new
 * row. Callers' programs depend on types and codes, so these must not change.
 */
export const errors = {
  ...rows(400, "invalid_request_error", {
    invalid_request: "The request is not valid.",
    invalid_json: "The request body is not valid JSON.",
    missing_required_field: "A required field is missing.",
    invalid_value: "A field has a value that is not allowed.",
    unsupported_parameter: "The chosen vendor does not support a field of the request.",
    context_length_exceeded: "The prompt is longer than the model's context.",
    content_policy_violation: "The vendor refused the prompt under its content policy.",
    previous_response_not_found: "No stored response has the id in previous_response_id.",
    previous_response_unfinished:
      "The background response named by previous_response_id has not ended.",
    websocket_connection_limit_reached:
      "A WebSocket stays open for at most 60 minutes. Open another one to continue.",
  }),
  ...rows(401, "authentication_error", {
    missing_api_key:
      "No API key was sent. Send the header 'Authorization: Bearer <API_KEY>' with a key that starts with 'dmt_'.",
    invalid_api_key: "Invalid API key. The key is unknown, malformed, expired or revoked.",
    invalid_vendor_api_key: "The vendor refused the vendor key that this call used.",
  }),
  ...rows(402, "billing_error", {
    insufficient_credits: "The credit balance does not cover this call.",
    spend_cap_exceeded: "A spend cap of this key, or a budget, does not cover this call.",
  }),
  ...rows(403, "permission_error", {
    permission_denied: "This API key does not have permission for this call.",
    upstream_forbidden: "The vendor refused this call.",
  }),
  ...rows(404, "not_found_error", {
    endpoint_not_found: "No such endpoint.",
    model_not_found: "No such model. Query the models endpoint for current names.",
    vendor_not_configured:
      "This vendor has no key on this service. Store a vendor key or use the dual-key form.",
    interaction_not_found: "No such call.",
    export_not_found: "No such export.",
    deletion_not_found: "No such deletion request.",
    eval_not_found: "No such evaluation run.",
    media_not_found: "No such media.",
    response_not_found: "No such stored response.",
    account_not_found: "No such account.",
    api_key_not_found: "No such API key.",
    vendor_key_not_found: "The account has no key stored for this vendor.",
    budget_not_found: "No such budget.",
    webhook_not_found: "No such webhook.",
    price_not_found: "No such price version.",
  }),
  ...rows(408, "timeout_error", { request_timeout: "The request did not arrive in time." }),
  ...rows(409, "invalid_request_error", {
    idempotency_conflict: "This X-Request-ID was already used with another request body.",
    export_not_ready: "The export is not finished yet.",
    already_exists: "The name is already taken.",
  }),
  ...rows(413, "invalid_request_error", { request_too_large: "The request body is too large." }),
  ...rows(416, "invalid_request_error", {
    range_not_satisfiable: "The requested range is beyond the end of the file.",
  }),
  ...rows(426, "invalid_request_error", {
    websocket_unsupported:
      "This service offers the Responses API over HTTP only (RESPONSES_WEBSOCKET).",
  }),
  ...rows(431, "invalid_request_error", {
    headers_too_large: "The request's headers are larger than 16 KiB.",
  }),
  ...rows(429, "rate_limit_error", {
    rate_limit_exceeded:
      "The rate limit of this account is exceeded. Retry after the time in Retry-After.",
    upstream_rate_limited: "The vendor's rate limit is exceeded. Retry later.",
    vendor_quota_exhausted: "The quota of the vendor key that this call used is exhausted.",
  }),
  ...rows(500, "api_error", { internal_error: "Internal error. It has been logged." }),
  ...rows(501, "api_error", { not_implemented: "This endpoint is not implemented yet." }),
  ...rows(502, "upstream_error", {
    upstream_error: "The vendor failed to answer this call.",
    upstream_authentication_failed:
      "The vendor refused the service's own key. The operator has to replace it.",
    upstream_unreachable: "The vendor could not be reached.",
    upstream_invalid_response: "The vendor's answer could not be understood.",
    upstream_stream_truncated:
      "The vendor's stream ended before the answer was complete. Retry your request.",
    upstream_invalid_tool_call: "The model produced an invalid tool call.",
  }),
  ...rows(503, "overloaded_error", {
    upstream_overloaded: "The vendor is overloaded. Retry later.",
  }),
  ...rows(503, "upstream_error", {
    upstream_quota_exhausted:
      "The service's own quota at the vendor is exhausted. The operator has to raise it.",
  }),
  ...rows(503, "overloaded_error", {
    overloaded: "The service is overloaded. Retry later.",
    store_unavailable: "The service's database does not answer. Retry later.",
  }),
  ...rows(504, "timeout_error", {
    upstream_timeout: "The vendor did not answer in time. Retry your request.",
  }),
};

export type ErrorCode = keyof typeof errors;

/**
 * Last until somebody replaces a key or raises a quota, though clients repeat their status. The
 * vendors' libraries, and agents built on them, obey the header that says so.
 */
export const lastingErrors: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "missing_api_key",
  "invalid_api_key",
  "invalid_vendor_api_key",
  "upstream_authentication_failed",
  "upstream_quota_exhausted",
  "vendor_quota_exhausted",
]);

/** The messages are public: they may be shown to any caller. */
function rows<Code extends string, const Status, const Type>(
  status: Status,
  type: Type,
  messages: Readonly<Record<Code, string>>,
) {
  const all = Object.entries<string>(messages);
  return Object.fromEntries(
    all.map(([code, message]) => [code, { status, type, message }]),
  ) as Readonly<Record<Code, { status: Status; type: Type; message: string }>>;
}
