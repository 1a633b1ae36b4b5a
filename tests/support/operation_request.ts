import type { SseEvent } from "../../src/base/sse.ts";
import type { AnswerReader, Operation } from "../../src/dialects/kernel/operation.ts";
import {
  type OperationRequest,
  readOperation,
} from "../../src/dialects/kernel/operation_request.ts";
import type { BoundInput, PriceRow } from "../../src/pricing/pricing.ts";
import { inputTokenBounds } from "../../src/shared/token_estimate.ts";

/** Returns a reader for the answer to a JSON request. */
export function readerOf(operation: Operation, body: Record<string, unknown>): AnswerReader {
  const sent = { body, text: JSON.stringify(body) };
  return operation.reader(readOperation(sent, operation));
}

/** An event as a vendor writes it. */
export function eventOf(data: unknown): SseEvent {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return { bytes: new TextEncoder().encode(`data: ${text}\n\n`), data: text, terminated: true };
}

/** A price with only these rates. */
export function priceOf(rates: PriceRow["rates"]): PriceRow {
  return {
    ...{ label: "vendor-b", model: "m", rates, contextTiers: [], serviceTiers: {} },
    ...{ version: "1", source: "a test" },
  };
}

/** The most that a request can cost. */
export function boundOfRequest(operation: Operation, request: OperationRequest): BoundInput {
  return operation.bound(request, inputTokenBounds(operation.countedText?.(request) ?? ""));
}
