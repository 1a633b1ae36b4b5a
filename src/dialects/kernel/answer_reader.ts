import type { SseEvent } from "../../base/sse.ts";
import { unreadableAnswer } from "../../shared/fault.ts";
import type { JsonRecord } from "./json.ts";
import type { AnswerReader, OperationEvent, Outcome } from "./operation.ts";
import { type OperationRequest, parsedRecord } from "./operation_request.ts";
import { carriesError, readVendorError } from "./vendor_error.ts";

/**
 * Base class for readers of answers that are one JSON document. Subclasses override `event` or
 * `bytes` if the operation also has streams or binary answers.
 */
export abstract class JsonAnswerReader implements AnswerReader {
  constructor(protected readonly request: OperationRequest) {}

  abstract whole(text: string, contentType: string): void;
  json?(value: unknown): void;
  abstract outcome(ending: Parameters<AnswerReader["outcome"]>[0]): Outcome | undefined;

  event(_event: SseEvent): OperationEvent {
    return {};
  }

  bytes(_piece: Uint8Array, _contentType: string): void {
    throw unreadableAnswer("an answer that isn't JSON");
  }
}

/** Reads one event of a stream: a JSON object, an error, or the end marker `[DONE]`. */
export function readEvent(
  { data }: SseEvent,
  read: (event: JsonRecord) => OperationEvent,
): OperationEvent {
  if (data === undefined) return {};
  if (data.trim() === "[DONE]") return { isLast: true };
  const event = parsedRecord(data);
  if (!event) return {};
  return carriesError(event) ? { error: readVendorError(event, undefined) } : read(event);
}
