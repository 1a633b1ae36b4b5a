import { pushAll } from "../../base/lists.ts";
import { SimilarJson } from "../../base/similar_json.ts";
import type { SseEvent } from "../../base/sse.ts";
import type { CanonicalEvent } from "./canonical.ts";
import type { DecodedEvent, DecodedRun, StreamDecoder } from "./dialect.ts";
import { type JsonRecord, jsonValue } from "./json.ts";

/**
 * Decodes a stream of JSON events. Events that differ from the one before only in a few values are
 * read without being parsed (`SimilarJson`).
 */
export abstract class JsonEventDecoder implements StreamDecoder {
  readonly #similar: SimilarJson;

  /**
   * `isReusable`: whether only strings and numbers of such a value are retained, so that the next
   * event may overwrite it.
   */
  constructor(isReusable: (json: unknown) => boolean) {
    this.#similar = new SimilarJson(isReusable);
  }

  decode(event: SseEvent): DecodedEvent {
    const similar = this.#similar.read(event.bytes);
    if (similar !== undefined) return this.take(similar, [], event);
    const data = event.data?.trim() ?? "";
    if (data === "") return noEvents;
    if (data === "[DONE]") return this.mark();
    const json = eventJson(event, data);
    if (json === undefined) return this.unreadable();
    this.#similar.learn(event.bytes, event.data!, json);
    return this.take(json, [], event);
  }

  decodeRun(bytes: Uint8Array): DecodedRun {
    return decodeRun(this.#similar, bytes, (json, events) => this.take(json, events));
  }

  abstract end(): ReturnType<StreamDecoder["end"]>;
  /** Reads one event. Within a run only its JSON is passed. */
  protected abstract take(
    json: unknown,
    events: CanonicalEvent[],
    event?: SseEvent,
  ): DecodedEvent;
  /** Returns the result for an event that isn't JSON. */
  protected abstract unreadable(): DecodedEvent;

  /** Handles `[DONE]`, the chat dialect's end marker, which servers of other dialects send too. */
  protected mark(): DecodedEvent {
    return noEvents;
  }
}

/**
 * Decodes a run of similar events. `take` appends an event's canonical events to the list that it
 * is passed, or returns a list of its own. The whole run shares one list: most events decode to a
 * single canonical event, and a list for it would take more memory than the event itself.
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
    // If `take` returns its own list, what it had appended before is discarded.
    events.length = before;
    if (decoded.events.some(({ type }) => type === "error")) failure = decoded;
    else pushAll(events, decoded.events);
    return failure === undefined;
  });
  return { events, length, failure };
}

/** Returns the value of an event with this data; undefined if it isn't JSON. */
export function eventJson({ json, isNotJson }: SseEvent, data: string): unknown {
  return isNotJson ? undefined : json ?? jsonValue(data);
}

/** The result for an event without meaning. */
export const noEvents: DecodedEvent = { events: [], usageOnly: false, terminal: false };

/** Returns the error, as a vendor would send it, for a stream that can't be decoded. */
export function unreadableEvent(message = "A stream event was not JSON."): JsonRecord {
  return { error: { code: "upstream_invalid_response", message } };
}
