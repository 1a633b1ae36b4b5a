import type { Steps } from "../../base/steps.ts";

/** What a caller sends over a dialect's WebSocket. */
export type ClientFrame = CreateFrame | SteerFrame | CancelFrame;

/** A call. */
export interface CreateFrame {
  readonly kind: "create";
  /** JSON text of the members that are the request's own, the last of those of one name. */
  readonly members: ReadonlyMap<string, string>;
  /** Names the caller's stream of responses; every frame of the answer repeats it. */
  readonly streamId: string | undefined;
  /** The request is to be remembered for the next one, and nothing is generated. */
  readonly isWarmUp: boolean;
  /** The response that it continues. */
  readonly previousId: string | undefined;
  /** Whether the answer is stored as over HTTP; otherwise the socket alone remembers it. */
  readonly isStored: boolean;
}

/** Input for a response that is under way. */
export interface SteerFrame {
  readonly kind: "steer";
  readonly previousId: string;
  readonly inputText: string;
}

/** Ends the response that is under way. */
export interface CancelFrame {
  readonly kind: "cancel";
  readonly responseId: string | undefined;
}

/** Frames of a dialect that speaks WebSocket besides HTTP; an answer's events are the stream's. */
export interface SocketFrames {
  /** The member that names what a request continues, for messages. */
  readonly previousField: string;
  /** Throws faults that name the member; leaves what is inside a request to its endpoint. */
  readFrame(text: string): Steps<ClientFrame>;
  /** The body as the endpoint takes it, streamed. */
  bodyText(frame: CreateFrame): string;
  /**
   * JSON text of the request's items without brackets; undefined where they are none, which the
   * endpoint refuses.
   */
  itemsOf(frame: CreateFrame): Steps<string | undefined>;
  /** The request with these items in place of its own, after the response `previousId`. */
  withItems(frame: CreateFrame, itemsText: string, previousId: string | undefined): CreateFrame;
  /** The events that answer a warm-up. Throws where the request could not follow it. */
  warmUp(frame: CreateFrame, response: { id: string; createdAt: number }): string[];
  steerFailed(frame: SteerFrame, isActive: boolean): string;
  cancelled(responseId: string | undefined): string;
  /** An error, given as the answer's body that it would be over HTTP. */
  error(status: number, bodyText: string, headers: Readonly<Record<string, string>>): string;
  /** The events of an answer that its vendor gave whole, given its JSON text. */
  wholeEvents(text: string): Steps<string[]>;
  /** An event with the stream's name. */
  withStream(data: string, streamId: string): string;
  /** The id of the response that an event is about, where it says so. */
  responseId(data: string): string | undefined;
  /** Of the event that completes an answer, JSON text of the output's items without brackets. */
  outputOf(data: string): string | undefined;
}
