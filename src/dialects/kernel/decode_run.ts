import { pushAll } from "../../base/lists.ts";
import type { SimilarJson } from "../../base/similar_json.ts";
import type { CanonicalEvent } from "./canonical.ts";
import type { DecodedEvent, DecodedRun } from "./dialect.ts";

export function decodeRun(
  similar: SimilarJson,
  bytes: Uint8Array,
  take: (json: unknown) => DecodedEvent,
): DecodedRun {
  const events: CanonicalEvent[] = [];
  let failure: DecodedEvent | undefined;
  const length = similar.readRun(bytes, (json) => {
    const decoded = take(json);
    if (decoded.events.some(({ type }) => type === "error")) failure = decoded;
    else pushAll(events, decoded.events);
    return failure === undefined;
  });
  return { events, length, failure };
}
