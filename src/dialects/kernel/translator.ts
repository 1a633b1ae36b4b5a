import type { Steps } from "../../base/steps.ts";
import type { Fault } from "../../shared/fault.ts";
import type { CanonicalAnswer, CanonicalEvent } from "./canonical.ts";
import type { Dialect, DialectQuirks } from "./dialect.ts";
import type { CanonicalRequest, Loss, MediaPart } from "./canonical_request.ts";

/**
 * The translating half of a dialect: requests into and out of the canonical form, and canonical
 * answers out of it. (The other half, `Dialect`, reads answers and splices requests.) Pure: no I/O,
 * no clock, no random; what must be minted is handed in.
 */
export interface Translator {
  /** Whether this media by address can't be sent: it has to be fetched and put in first. */
  readonly needsInline?: (part: MediaPart, url: string) => boolean;
  /**
   * Reads a caller's request; `body` has passed the contract, prompt tags are cut already.
   * Throws `Fault` (invalid_value, missing_required_field…) naming the field by its path.
   */
  decodeRequest(body: unknown): CanonicalRequest;
  /** The same in steps, for requests that hold much. */
  decodeSteps(body: unknown): Steps<CanonicalRequest>;
  /** Writes a request for a vendor; what can't be carried is listed, never dropped silently. */
  encodeRequest(request: CanonicalRequest, target: Target): EncodedRequest;
  encodeSteps(request: CanonicalRequest, target: Target): Steps<EncodedRequest>;
  /** A writer of one whole answer. */
  encodeWhole(answer: CanonicalAnswer, context: AnswerContext): unknown;
  /** A writer of one streamed answer. */
  streamEncoder(context: AnswerContext): StreamEncoder;
}

/** What the encoder must know of where the request goes. */
export interface Target {
  /** The vendor's own name of the model. */
  model: string;
  /** The model's limit of output tokens from the price table or the vendor's list, if known. */
  maxOutputTokens: number | undefined;
  /** What the vendor does differently within the dialect. */
  quirks?: DialectQuirks;
  /**
   * How the vendor's model is offered the vendor's web search; absent: it has none. `options` is
   * the chat dialect's own form, on models that always search; `tool` one among its tools.
   */
  webSearch?: "tool" | "options";
  /**
   * How the vendor takes marks of what is to be cached: in the messages dialect's words, or as
   * breakpoints of its own. Absent: it has no place for them.
   */
  cacheMarks?: "ephemeral" | "breakpoints";
  /** The vendor takes a key by which it finds what it has cached. */
  cacheKey?: boolean;
  /** Marks are set where the caller set none, if the prompt is long enough to pay. */
  autoCache?: boolean;
}

export interface EncodedRequest {
  /** JSON value of the vendor's request. */
  body: Record<string, unknown>;
  losses: Loss[];
  reversal: Reversal;
}

/**
 * What was emulated on the way up and has to be undone on the canonical events of the answer
 * (`undo.ts` does it, for every dialect alike).
 */
export interface Reversal {
  /** Alias sent to the vendor → the caller's tool name. */
  toolNames: Readonly<Record<string, string>>;
  /** Custom tools sent as functions with one string property `input`. */
  customTools: readonly string[];
  /** Tool whose arguments are the answer's text (emulated JSON schema); finish becomes `stop`. */
  jsonTool: string | undefined;
  /** Member to take out of that JSON, where a schema's root had to be wrapped. */
  jsonUnwrap: string | undefined;
  /** Take a surrounding code fence off the text (emulated JSON mode). */
  stripFence: boolean;
}

/** What the caller's answer is written from beside its events. */
export interface AnswerContext {
  /** Minted bare ids: `id("chatcmpl-")` gives a new id with that prefix. */
  id: (prefix: string) => string;
  /** Unix time in seconds at which the answer began. */
  created: number;
  /** Model to show when the vendor names none. */
  model: string;
  /** Model to show whatever the vendor names. */
  shownModel?: string | undefined;
  /** Of the caller's request; the whole of it may be large. */
  request: Pick<CanonicalRequest, "reasoning">;
  /** The caller's own body, for what is echoed as it was sent. */
  body: unknown;
  /** Whether the caller asked to see usage in its stream. */
  showUsage: boolean;
  /** Prompt tokens counted beforehand, for dialects that state them at the start. */
  inputTokens: number;
  /** Unix time in seconds by now, for dialects that state when an answer ended. */
  now?: () => number;
  /** Stream as one JSON array in place of server-sent events, where the dialect has both forms. */
  jsonArray?: boolean;
}

/** Writes one streamed answer in a dialect; gives text to send, which may be empty. */
export interface StreamEncoder {
  /** Of the whole stream; `text/event-stream` when absent. */
  readonly contentType?: string;
  encode(event: CanonicalEvent): string;
  /** After the last event of an answer that ended well. */
  end(): string;
  /** Ends the stream with an error in the dialect's own form. */
  fail(fault: Fault): string;
  /** What says nothing and may stand here, for the time in which there is nothing to say. */
  keepAlive(): string;
}

/** A dialect with both of its halves. */
export type FullDialect = Dialect & Translator;
