import type { ErrorDialect } from "./contract.ts";

/** Headers that a dialect's own clients use, in addition to ours, which every client may use. */
export const clientHeaders: Readonly<
  Record<ErrorDialect, { readonly key?: "x-goog-api-key"; readonly requestId?: "request-id" }>
> = {
  service: {},
  chat: {},
  responses: {},
  // The clients read the request's id from it (`_request_id`, `APIError.requestID`).
  messages: { requestId: "request-id" },
  generate: { key: "x-goog-api-key" },
};

/** Returns the response headers that hold the request's id. */
export function requestIdHeaders(
  requestId: string,
  dialect: ErrorDialect,
): Readonly<Record<string, string>> {
  const { requestId: own } = clientHeaders[dialect];
  return { "x-request-id": requestId, ...(own === undefined ? {} : { [own]: requestId }) };
}
