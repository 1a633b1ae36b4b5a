import { pushAll } from "../../base/lists.ts";
import { SimilarJson } from "../../base/similar_json.ts";
import type { SseEvent } from "../../base/sse.ts";
import type { CanonicalEvent } from "./canonical.ts";
import type { DecodedEvent, DecodedRun, StreamDecoder } from "./dialect.ts";
import { type JsonRecord, jsonValue } from "./json.ts";

/**
 * Decodes a stream of events that are JSON. Those that are like the one before are read by their
 * likeness (`SimilarJson`).
 */
export abstract class JsonEventDecoder implements StreamDecoder {
  readonly #similar: SimilarJson;

  /** `isReusable`: nothing is kept of such a value but its strings and numbers. */
  constructor(isReusable: (json: unknown) => boolean) {
    this.#similar = new SimilarJson(isReusable);
  }

  decode(event: SseEvent): DecodedEvent {
    const similar = this.#similar.read(event.bytes);
    if (similar !== undefined) return this.take(similar, [], event);
    const data = event.data?.trim() ?? "";
    if (data === "") return noEvents;
    if (data === "[DONE]") return this.mark();
    const json = jsonValue(data);
    if (json === undefined) return this.unreadable();
    this.#similar.learn(event.bytes, event.data!, json);
    return this.take(json, [], event);
  }

  decodeRun(bytes: Uint8Array): DecodedRun {
    return decodeRun(this.#similar, bytes, (json, events) => this.take(json, events));
  }

  abstract end(): ReturnType<StreamDecoder["end"]>;
  /** Reads one event. In a run it has nothing but its JSON. */
  protected abstract take(
    json: unknown,
    events: CanonicalEvent[],
    event?: SseEvent,
  ): DecodedEvent;
  /** What an event means that is no JSON. */
  protected abstract unreadable(): DecodedEvent;

  /** The chat dialect's end marker, which servers of others send too. */
  protected mark(): DecodedEvent {
    return noEvents;
  }
}

/**
 * `take` adds what an event means to the list that it gets, or returns an event with a list of its
 * own. One list for the whole run: most events mean one thing, and a list for it would take more
 * memory than the event itself.
 */
function decodeRun(
  similar: SimilarJson,
  bytes: Uint8Array,
  take: (json: unknown, events: CanonicalEvent[]) => DecodedEvent,
): DecodedRun {
  const events: CanonicalEvent[] = [];
  let failure: DecodedEvent | undefined;
  const length = similar.readRun(bytes, (json) => {
    const before = events.length;
    const decoded = take(json, events);
    if (decoded.events === events) return true;
    // What it added before it failed is no part of its result.
    events.length = before;
    if (decoded.events.some(({ type }) => type === "error")) failure = decoded;
    else pushAll(events, decoded.events);
    return failure === undefined;
  });
  return { events, length, failure };
}

/** An event that means nothing. */
export const noEvents: DecodedEvent = { events: [], usageOnly: false, terminal: false };

/** What a stream fails with that can't be followed, as a vendor's error. */
export function unreadableEvent(message = "A stream event was not JSON."): JsonRecord {
  return { error: { code: "upstream_invalid_response", message } };
}
