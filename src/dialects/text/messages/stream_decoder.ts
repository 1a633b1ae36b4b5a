import type { SseEvent } from "../../../base/sse.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import { JsonEventDecoder, noEvents, unreadableEvent } from "../../kernel/decode_run.ts";
import type { DecodedEvent, StreamDecoder } from "../../kernel/dialect.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { carriesError, readVendorError } from "../../kernel/vendor_error.ts";
import { AnswerReader } from "./answer/answer_reader.ts";
import { UnreadableBlocks } from "./answer/block_reader.ts";

export function createStreamDecoder(): StreamDecoder {
  return new MessagesStreamDecoder();
}

/**
 * Decodes a messages stream. Pings, unknown events and unknown deltas are ignored, as is a repeated
 * `message_start`; the start of another message is a failure.
 */
class MessagesStreamDecoder extends JsonEventDecoder {
  readonly #reader = new AnswerReader();
  #stopped = false;
  #failed = false;
  /** Usage has come with a `message_delta`. */
  #hasUsage = false;

  constructor() {
    super(isTextDelta);
  }

  protected unreadable(): DecodedEvent {
    return this.#failed || this.#stopped ? noEvents : this.#fail(unreadableEvent());
  }

  protected take(json: unknown, events: CanonicalEvent[], event?: SseEvent): DecodedEvent {
    // Nothing after the end belongs to the answer.
    if (this.#failed || this.#stopped) return noEvents;
    if (!isRecord(json)) return noEvents;
    const type = asString(json.type) ?? event?.event;
    if (type === "error" || carriesError(json)) return this.#fail(json);
    try {
      return this.#read(type, json, events);
    } catch (thrown) {
      if (!(thrown instanceof UnreadableBlocks)) throw thrown;
      return this.#fail(unreadableEvent(`The stream can't be followed: ${thrown.message}.`));
    }
  }

  get mayBeWhole(): boolean {
    return this.#hasUsage && this.mayEnd;
  }

  get mayEnd(): boolean {
    return !this.#failed && this.#reader.finished;
  }

  end(): { events: CanonicalEvent[]; complete: boolean } {
    const events: CanonicalEvent[] = [];
    if (!this.#failed) this.#reader.blocks.closeAll(events, false);
    this.#reader.own.report("messages", events);
    return { events, complete: this.mayEnd };
  }

  #read(type: string | undefined, json: JsonRecord, events: CanonicalEvent[]): DecodedEvent {
    const reader = this.#reader;
    const index = typeof json.index === "number" ? json.index : 0;
    switch (type) {
      case "message_start":
        if (isRecord(json.message) && !reader.start(json.message, events)) {
          return this.#fail(unreadableEvent("A second message began in the same stream."));
        }
        break;
      case "content_block_start":
        if (!reader.finished) reader.blocks.start(index, json.content_block, events);
        break;
      case "content_block_delta":
        if (!reader.finished) reader.blocks.delta(index, json.delta, events);
        break;
      case "content_block_stop":
        if (!reader.finished) reader.blocks.stop(index, events);
        break;
      case "message_delta": {
        const delta = asRecord(json.delta);
        reader.own.add(json);
        reader.own.add(delta);
        reader.usage(json.usage, events);
        this.#hasUsage ||= isRecord(json.usage);
        const reason = asString(delta.stop_reason);
        if (reason !== undefined) reader.finish(reason, delta, events);
        break;
      }
      case "message_stop":
        // Confirms that the answer is complete, even without a reason.
        if (reader.started) reader.finish("", {}, events);
        this.#stopped = reader.started;
        break;
    }
    return { events, usageOnly: false, terminal: this.#stopped && type === "message_stop" };
  }

  #fail(json: JsonRecord): DecodedEvent {
    this.#failed = true;
    const error = readVendorError(json, undefined);
    return { events: [{ type: "error", error }], usageOnly: false, terminal: false };
  }
}

/**
 * Whether an event's value may be overwritten by the next: sources are retained as they were sent.
 */
function isTextDelta(json: unknown): boolean {
  return isRecord(json) && json.type === "content_block_delta" && isRecord(json.delta) &&
    json.delta.type !== "citations_delta";
}
