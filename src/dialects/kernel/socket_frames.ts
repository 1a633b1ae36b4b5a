import type { Steps } from "../../base/steps.ts";
import type { PromptTags } from "../../shared/prompt_tags.ts";

/** What a caller sends over a dialect's WebSocket. */
export type ClientFrame = CreateFrame | SteerFrame | CancelFrame;

/** A call. */
export interface CreateFrame {
  readonly kind: "create";
  /**
   * JSON text of the members that belong to the request; of members with the same name, the last.
   */
  readonly members: ReadonlyMap<string, string>;
  /** Names the caller's stream of responses; every frame of the answer repeats it. */
  readonly streamId: string | undefined;
  /** Whether the request is only remembered for the next one, and nothing is generated. */
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

/**
 * Frames of a dialect that speaks WebSocket besides HTTP; an answer's frames are the events of its
 * stream.
 */
export interface SocketFrames {
  /** The member that names the response that a request continues, for error messages. */
  readonly previousField: string;
  /**
   * Parses a frame. Throws faults that name the member; the content of a request is left to its
   * endpoint.
   */
  readFrame(text: string): Steps<ClientFrame>;
  /** Returns the body for the endpoint, with streaming on. */
  bodyText(frame: CreateFrame): string;
  /**
   * Returns the request's items as JSON text without brackets; undefined if they aren't items,
   * which the endpoint refuses.
   */
  itemsOf(frame: CreateFrame): Steps<string | undefined>;
  /** Takes the tag lines out of items, which within a conversation would be ordinary text. */
  takeTags(itemsText: string): Steps<{ tags: PromptTags; itemsText: string }>;
  /** Returns the request with these items in place of its own, after the response `previousId`. */
  withItems(frame: CreateFrame, itemsText: string, previousId: string | undefined): CreateFrame;
  /**
   * Returns the items of a conversation that a later request continues, without those that a summary
   * replaces: `isSummary` if it also replaces what came before the items.
   */
  sinceSummary(itemsText: string): Steps<{ itemsText: string; isSummary: boolean }>;
  /** Returns an event's text with the turn that its response continues. */
  withPrevious(data: string, previousId: string): string;
  /** Returns the events that answer a warm-up. Throws if no request could follow it. */
  warmUp(frame: CreateFrame, response: { id: string; createdAt: number }): string[];
  steerFailed(frame: SteerFrame, isActive: boolean): string;
  cancelled(responseId: string | undefined): string;
  /** Returns an error event, given the body that the answer would have over HTTP. */
  error(status: number, bodyText: string, headers: Readonly<Record<string, string>>): string;
  /** Returns the events of an answer that its vendor didn't stream, given its JSON text. */
  wholeEvents(text: string): Steps<string[]>;
  /** Returns an event with the stream's name added. */
  withStream(data: string, streamId: string): string;
  /** Returns the id of the response that an event is about, if the event names it. */
  responseId(data: string): string | undefined;
  /**
   * Returns the output items of the event that completes an answer, as JSON text without brackets.
   */
  outputOf(data: string): string | undefined;
}
