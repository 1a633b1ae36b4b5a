/**
 * The client of the gateway: one function per operation, generated from the contracts, and
 * hand-written retries, streams, errors and exports. Runs wherever there is `fetch`: Deno, Node
 * from 20 on, browsers.
 */
export { createGateway, type Gateway, type GatewayOptions } from "./gateway.ts";
export type { Fetch, RetryOptions } from "./retry.ts";
export {
  type CodeOf,
  type ErrorCode,
  GatewayError,
  isGatewayError,
  type LocalErrorCode,
} from "./errors.ts";
export {
  type EventOf,
  EventStream,
  streamChatCompletion,
  streamContent,
  streamEvents,
  streamImage,
  streamMessage,
  type StreamOperation,
  streamResponse,
} from "./streams.ts";
export {
  downloadExport,
  type DownloadOptions,
  type ExportedRow,
  exportRows,
  type ExportRowsOptions,
  type ExportTable,
  interactionRows,
  type InteractionRowsOptions,
} from "./exports.ts";
export { type CallInfo, callInfo, type RateLimit, rateLimitOf } from "./answer_headers.ts";
export { modelId, type ModelName, parseModelId, type Vendor, vendorOf } from "./models.ts";
export { newRequestId } from "./request_id.ts";
export * from "./generated/sdk.gen.ts";
export type * from "./generated/types.gen.ts";
