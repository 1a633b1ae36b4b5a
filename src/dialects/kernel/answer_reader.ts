import type { SseEvent } from "../../base/sse.ts";
import { unreadableAnswer } from "../../shared/fault.ts";
import type { JsonRecord } from "./json.ts";
import type { AnswerReader, OperationEvent, Outcome } from "./operation.ts";
import { type OperationRequest, parsedRecord } from "./operation_request.ts";
import { carriesError, readVendorError } from "./vendor_error.ts";

/** Reads answers that are JSON and come whole, unless an operation says otherwise. */
export abstract class JsonAnswerReader implements AnswerReader {
  constructor(protected readonly request: OperationRequest) {}

  abstract whole(text: string, contentType: string): void;
  abstract outcome(ending: Parameters<AnswerReader["outcome"]>[0]): Outcome | undefined;

  event(_event: SseEvent): OperationEvent {
    return {};
  }

  bytes(_piece: Uint8Array, _contentType: string): void {
    throw unreadableAnswer("an answer that is no JSON");
  }
}

/** Reads an event that is an object; it may be an error, or the marker of the stream's end. */
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
