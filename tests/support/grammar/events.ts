import { frames, json } from "./frames.ts";
import { checkMessagesStream } from "./messages.ts";
import { checkResponsesStream } from "./responses.ts";

/** One parsed event of a stream, in a dialect whose events have types. */
export type WireEvent = Record<string, unknown> & { type: string };

/** Checks a messages stream against its grammar and returns its events. */
export function messagesEvents(stream: string): WireEvent[] {
  checkMessagesStream(stream);
  return eventsOf(stream);
}

/** Checks a responses stream against its grammar and returns its events. */
export function responsesEvents(stream: string): WireEvent[] {
  checkResponsesStream(stream);
  return eventsOf(stream);
}

function eventsOf(stream: string): WireEvent[] {
  return frames(stream).map(({ data }) => json(data) as WireEvent);
}
