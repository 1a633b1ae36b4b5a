import { frames, json } from "./frames.ts";
import { checkMessagesStream } from "./messages.ts";
import { checkResponsesStream } from "./responses.ts";

/** One event of a stream of the dialects that name their events, parsed. */
export type WireEvent = Record<string, unknown> & { type: string };

/** The events of a messages stream, which must keep to its grammar. */
export function messagesEvents(stream: string): WireEvent[] {
  checkMessagesStream(stream);
  return eventsOf(stream);
}

/** The events of a responses stream, which must keep to its grammar. */
export function responsesEvents(stream: string): WireEvent[] {
  checkResponsesStream(stream);
  return eventsOf(stream);
}

function eventsOf(stream: string): WireEvent[] {
  return frames(stream).map(({ data }) => json(data) as WireEvent);
}
