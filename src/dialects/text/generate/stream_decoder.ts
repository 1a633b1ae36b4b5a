import type { SseEvent } from "../../../base/sse.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import type { DecodedEvent, StreamDecoder } from "../../kernel/dialect.ts";
import { isRecord, type JsonRecord } from "../../kernel/json.ts";
import { carriesError, readVendorError } from "../../kernel/vendor_error.ts";
import { AnswerReader } from "./answer/answer_reader.ts";

export function createStreamDecoder(): StreamDecoder {
  return new GenerateStreamDecoder();
}

/**
 * Decodes a generate stream with `alt=sse`: each event is a whole response with new parts only. The
 * finish of candidates is emitted by `end`.
 */
class GenerateStreamDecoder implements StreamDecoder {
  readonly #reader = new AnswerReader();
  #failed = false;

  decode(event: SseEvent): DecodedEvent {
    const data = event.data;
    if (data === undefined || data.trim() === "" || data.trim() === "[DONE]") return nothing;
    let json: unknown;
    try {
      json = JSON.parse(data);
    } catch {
      const message = "A stream event was not JSON.";
      return this.#fail({ error: { code: "upstream_invalid_response", message } });
    }
    const events: CanonicalEvent[] = [];
    for (const element of Array.isArray(json) ? json : [json]) {
      if (!isRecord(element)) continue;
      if (carriesError(element)) return this.#fail(element, events);
      this.#reader.read(element, events);
    }
    if (events.some(({ type }) => type === "error")) this.#failed = true;
    const hasUsage = events.some(({ type }) => type === "usage");
    return { events, usageOnly: false, terminal: hasUsage && this.#reader.finished };
  }

  end(): { events: CanonicalEvent[]; complete: boolean } {
    const events: CanonicalEvent[] = [];
    this.#reader.close(events, false);
    return { events, complete: !this.#failed && this.#reader.finished };
  }

  #fail(json: JsonRecord, before: CanonicalEvent[] = []): DecodedEvent {
    this.#failed = true;
    const events: CanonicalEvent[] = [
      ...before,
      { type: "error", error: readVendorError(json, undefined) },
    ];
    return { events, usageOnly: false, terminal: false };
  }
}

const nothing: DecodedEvent = { events: [], usageOnly: false, terminal: false };
