import { pushAll } from "../../base/lists.ts";
import type { SimilarJson } from "../../base/similar_json.ts";
import type { CanonicalEvent } from "./canonical.ts";
import type { DecodedEvent, DecodedRun } from "./dialect.ts";
import type { JsonRecord } from "./json.ts";

/**
 * `take` adds what an event means to the list that it gets, or returns an event with a list of its
 * own. One list for the whole run: most events mean one thing, and a list for it would take more
 * memory than the event itself.
 */
export function decodeRun(
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
