import { pushAll } from "../../../base/lists.ts";
import type { SseEvent } from "../../../base/sse.ts";
import type { Steps } from "../../../base/steps.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import { JsonEventDecoder, noEvents, unreadableEvent } from "../../kernel/decode_run.ts";
import type { DecodedEvent, DialectQuirks, StreamDecoder } from "../../kernel/dialect.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { carriesError } from "../../kernel/vendor_error.ts";
import { readFailure } from "./answer/failure.ts";
import { itemTypeOf } from "./answer/item_reader.ts";
import { OutputReader } from "./answer/output_reader.ts";
import { endingEvents, startEvent } from "./answer/response_reader.ts";
import { readUsage } from "./usage.ts";

export function createStreamDecoder(quirks: DialectQuirks): StreamDecoder {
  return new ResponsesStreamDecoder(quirks);
}

/**
 * Decodes a responses stream and tolerates what servers do differently: missing `added` and `delta`
 * events, gaps in the sequence numbers, an end marker, flat and nested errors.
 * Nothing after the terminal event is read.
 */
class ResponsesStreamDecoder extends JsonEventDecoder {
  readonly #quirks: DialectQuirks;
  readonly #output = new OutputReader();
  #started = false;
  #state: "open" | "complete" | "failed" = "open";
  #sequence = 0;

  constructor(quirks: DialectQuirks) {
    super(isTextDelta);
    this.#quirks = quirks;
  }

  get nextSequence(): number {
    return this.#sequence;
  }

  protected override mark(): DecodedEvent {
    return { ...noEvents, terminal: this.#state === "complete" };
  }

  protected unreadable(): DecodedEvent {
    return this.#state === "open" ? this.#fail(unreadableEvent()) : noEvents;
  }

  protected take(json: unknown, events: CanonicalEvent[], event?: SseEvent): DecodedEvent {
    if (this.#state !== "open") return noEvents;
    if (!isRecord(json)) return noEvents;
    // Some servers name the type only in the `event:` line.
    const record = json.type === undefined ? { ...json, type: event?.event } : json;
    if (record.type === "error" || carriesError(record)) return this.#fail(record);
    const decoded = this.#read(record, events);
    const { sequence_number: sequence } = record;
    // A failed event isn't forwarded: the error that replaces it takes its number.
    if (!this.#hasFailed() && typeof sequence === "number") this.#sequence = sequence + 1;
    return decoded;
  }

  readAhead(json: unknown): Steps<void> {
    return this.#output.readAhead(asRecord(json));
  }

  end(): { events: CanonicalEvent[]; complete: boolean } {
    const events: CanonicalEvent[] = [];
    this.#output.close(events);
    return { events, complete: this.#state === "complete" };
  }

  #read(json: JsonRecord, events: CanonicalEvent[]): DecodedEvent {
    switch (json.type) {
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        if (isRecord(json.response)) this.#start(json.response, events);
        break;
      case "response.completed":
      case "response.incomplete":
        return this.#complete(json, events);
      case "response.failed":
      case "response.cancelled":
        return this.#failed(json);
      case "response.output_item.added":
        this.#start({}, events);
        if (isRecord(json.item)) this.#output.open(json.item, json, events);
        break;
      case "response.output_item.done":
        this.#start({}, events);
        if (isRecord(json.item)) this.#output.finish(json.item, json, events);
        break;
      default: {
        const type = itemTypeOf(json);
        if (type === undefined) break;
        this.#start({}, events);
        this.#output.piece(type, json, events);
      }
    }
    if (this.#output.isTooLong) {
      return this.#fail(unreadableEvent("The answer has too many items."));
    }
    return { events, usageOnly: false, terminal: false };
  }

  #start(response: JsonRecord, events: CanonicalEvent[]): void {
    if (this.#started) return;
    this.#started = true;
    events.push(startEvent(response));
  }

  #complete(json: JsonRecord, events: CanonicalEvent[]): DecodedEvent {
    const response: JsonRecord = {
      ...asRecord(json.response),
      // The event's name decides, since the object's status may lag behind it.
      status: String(json.type).slice("response.".length),
    };
    this.#start(response, events);
    this.#output.finishAll(response.output, events);
    pushAll(events, endingEvents(response, this.#output, this.#quirks));
    this.#state = "complete";
    return { events, usageOnly: false, terminal: true };
  }

  #failed(json: JsonRecord): DecodedEvent {
    const response = asRecord(json.response);
    const error = isRecord(response.error)
      ? response.error
      : { message: asString(response.status) && `The response is ${asString(response.status)}.` };
    const usage = readUsage(response, this.#quirks);
    const failed = this.#fail({ error });
    // Output before the failure is billed.
    return usage ? { ...failed, events: [{ type: "usage", usage }, ...failed.events] } : failed;
  }

  #hasFailed(): boolean {
    return this.#state === "failed";
  }

  #fail(json: JsonRecord): DecodedEvent {
    this.#state = "failed";
    return { ...noEvents, events: [{ type: "error", error: readFailure(json) }] };
  }
}

function isTextDelta(json: unknown): boolean {
  return isRecord(json) && typeof json.type === "string" && json.type.endsWith(".delta");
}
