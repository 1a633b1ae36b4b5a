import type { ErrorDialect } from "../../contracts/kernel/contract.ts";

/** Headers that a dialect's own clients use beside those of ours that every client may use. */
export const clientHeaders: Readonly<
  Record<ErrorDialect, { readonly key?: "x-goog-api-key"; readonly requestId?: "request-id" }>
> = {
  service: {},
  chat: {},
  responses: {},
  // Where they look for the id of a request (`_request_id`, `APIError.requestID`).
  messages: { requestId: "request-id" },
  generate: { key: "x-goog-api-key" },
};

/** A response's headers with the id of its request. */
export function requestIdHeaders(
  requestId: string,
  dialect: ErrorDialect,
): Readonly<Record<string, string>> {
  const { requestId: own } = clientHeaders[dialect];
  return { "x-request-id": requestId, ...(own === undefined ? {} : { [own]: requestId }) };
}
