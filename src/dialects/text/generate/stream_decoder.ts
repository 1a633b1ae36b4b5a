import type { SseEvent } from "../../../base/sse.ts";
import type { Steps } from "../../../base/steps.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import type { DecodedEvent, DialectQuirks, StreamDecoder } from "../../kernel/dialect.ts";
import { isRecord, type JsonRecord } from "../../kernel/json.ts";
import { carriesError, readVendorError } from "../../kernel/vendor_error.ts";
import { withExactIntegers } from "../../../base/exact_integers.ts";
import { callMembers } from "./answer/call_members.ts";
import { AnswerReader, areReadable } from "./answer/answer_reader.ts";
import { eventJson, noEvents, unreadableEvent } from "../../kernel/decode_run.ts";

export function createStreamDecoder(_quirks?: DialectQuirks, choices = 1): StreamDecoder {
  return new GenerateStreamDecoder(choices);
}

/**
 * Decodes a generate stream with `alt=sse`: each event is a whole response with new parts only. The
 * finish of candidates is emitted by `end`: no event is known to be the last, since a candidate may
 * begin after another has ended, and some servers repeat `finishReason` in each element.
 */
class GenerateStreamDecoder implements StreamDecoder {
  readonly #asked: number;
  readonly #reader = new AnswerReader();
  #hasUsage = false;
  #failed = false;

  /** `asked`: how many candidates the request asked for. */
  constructor(asked: number) {
    this.#asked = Math.max(1, asked);
  }

  get mayBeWhole(): boolean {
    return !this.#failed && this.#hasUsage && this.#reader.hasEnded(this.#asked);
  }

  get mayEnd(): boolean {
    return this.mayBeWhole && !this.#reader.mayRepeatReasons;
  }

  decode(event: SseEvent): DecodedEvent {
    const data = event.data;
    if (data === undefined || data.trim() === "" || data.trim() === "[DONE]") return noEvents;
    const json = withExactIntegers(data, eventJson(event, data), callMembers);
    if (json === undefined) return this.#fail(unreadableEvent());
    const events: CanonicalEvent[] = [];
    for (const element of Array.isArray(json) ? json : [json]) {
      if (!isRecord(element)) continue;
      if (carriesError(element)) return this.#fail(element, events);
      if (!areReadable(element)) return this.#fail(unreadableEvent("A candidate can't be read."));
      this.#reader.read(element, events);
    }
    if (events.some(({ type }) => type === "error")) this.#failed = true;
    if (events.some(({ type }) => type === "usage")) this.#hasUsage = true;
    return { events, usageOnly: false, terminal: false };
  }

  readAhead(json: unknown): Steps<void> {
    return this.#reader.readAhead(json);
  }

  end(): { events: CanonicalEvent[]; complete: boolean } {
    const events: CanonicalEvent[] = [];
    this.#reader.close(events, false);
    // A vendor may return fewer candidates than were asked for.
    return { events, complete: !this.#failed && this.#reader.hasEnded(1) };
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
