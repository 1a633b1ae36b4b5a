import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { Fault } from "../../shared/fault.ts";
import type { Usage } from "../../shared/usage.ts";
import type { PromptTags } from "../../shared/prompt_tags.ts";
import type { SseEvent } from "../../base/sse.ts";
import type { Steps } from "../../base/steps.ts";
import type { CanonicalAnswer, CanonicalEvent } from "./canonical.ts";
import type { HostedWork } from "./hosted.ts";
import type { MediaField } from "./media_field.ts";
import type { ToolDemand } from "./tool_demand.ts";
import type { RefusedSettings } from "./refused_settings.ts";
import type { CanonicalRequest, Loss, MediaPart } from "./canonical_request.ts";

/**
 * One wire format: requests and answers, into the canonical form and out of it, and spliced as text
 * where vendor and caller speak it both. Pure: no I/O, no clock, no random, no other dialect; ids
 * and times are handed in. The four in `src/dialects/text/` have the same files and exports
 * (docs/developing.md, "Add a dialect").
 */
export interface Dialect extends RequestCodec, AnswerCodec, OptionalForms {
  readonly name: DialectName;
}

/** Requests: what the gateway reads of them, and how they reach a vendor. */
export interface RequestCodec {
  /** What the gateway must know of a request; `body` has passed the contract. */
  readRequest(body: unknown): RequestFacts;
  /**
   * The request's own text with a few places exchanged, for a vendor of the same dialect.
   * Everything else stays byte for byte as the caller wrote it.
   */
  spliceRequest(bodyText: string, facts: RequestFacts, changes: RequestChanges): string;
  /** The same in steps, for requests that hold much. */
  spliceRequestSteps(
    bodyText: string,
    facts: RequestFacts,
    changes: RequestChanges,
  ): Steps<string>;
  /**
   * Reads a caller's request; `body` has passed the contract, prompt tags are cut already.
   * Throws `Fault` (invalid_value, missing_required_field…) naming the field by its path.
   */
  decodeRequest(body: unknown): CanonicalRequest;
  /** The same in steps, for requests that hold much. */
  decodeRequestSteps(body: unknown): Steps<CanonicalRequest>;
  /** Writes a request for a vendor; what can't be carried is listed, never dropped silently. */
  encodeRequest(request: CanonicalRequest, target: Target): EncodedRequest;
  encodeRequestSteps(request: CanonicalRequest, target: Target): Steps<EncodedRequest>;
  /** What of a request runs at its vendor beside the model, or lives in the vendor's account. */
  hostedWork(body: unknown): HostedWork;
  /** Path of the call, appended to the vendor's base address. */
  upstreamPath(model: string, stream: boolean): string;
  /** Where requests and answers hold media in their text. */
  readonly mediaFields: readonly MediaField[];
  /** Whether this media can't be sent by its address: it has to be fetched and sent as data. */
  readonly mustInline: (part: MediaPart, url: string) => boolean;
  readonly asking: Asking;
}

/** Whole answers and streams. */
export interface AnswerCodec {
  /** Members of a request that answers repeat or are written by, and what tells calls apart. */
  readonly answerFields: readonly string[];
  /** The member of a whole answer that holds its usage. */
  readonly usageMember: string;
  /** That member's value in the neutral form; undefined where it holds no numbers. */
  readRawUsage(raw: unknown, quirks: DialectQuirks): Usage | undefined;
  /**
   * The events of a whole answer, given its parsed JSON. Throws `Fault` when it isn't one; an
   * answer that carries an error in a 200 ends with an error event.
   */
  decodeAnswer(json: unknown, quirks: DialectQuirks): CanonicalEvent[];
  /**
   * The whole answer as JSON value: with a context, for a caller whose vendor speaks another
   * dialect; without, as its vendor gave it, for the record.
   */
  encodeAnswer(answer: CanonicalAnswer, context?: AnswerContext): unknown;
  /** A decoder of one streamed answer, to a request for `choices` of them (1 when absent). */
  createStreamDecoder(quirks: DialectQuirks, choices?: number): StreamDecoder;
  /** An encoder of one streamed answer. */
  createStreamEncoder(context: AnswerContext): StreamEncoder;
  /** The bytes that end a stream with an error in this dialect. */
  errorFrame(fault: Fault): string;
}

/** What only some dialects have. */
export interface OptionalForms {
  /**
   * For a dialect whose vendors keep answers unless told not to: how such a call is made without.
   * Undefined where the caller wants nothing kept.
   */
  stateless?(body: unknown, model: string): StatelessCall | undefined;
  /**
   * For a dialect with a second stream form (a JSON array): rewrites the vendor's server-sent
   * events into it, for pass-through callers who asked for that form.
   */
  reframe?(): StreamReframer;
  /**
   * For a dialect whose streams repeat the whole answer: the answer as JSON value where this event
   * holds it.
   */
  wholeOf?(event: SseEvent): unknown;
  /** For the dialect of chat endpoints: what a request asks of one that such endpoints refuse. */
  toolDemand?(body: unknown): ToolDemand;
  /** For a dialect with an endpoint that counts a request's tokens. */
  readonly counting?: Counting;
  /** For a dialect whose callers may continue a stored answer. */
  readonly conversation?: Conversation;
  /** For a dialect whose streams report usage only where a flag asks for it. */
  readonly usageFlag?: UsageFlag;
  /** An encoded request without what we ask for on our own and its model is known to refuse. */
  fitToModel?(
    request: Readonly<Record<string, unknown>>,
    model: string,
  ): Record<string, unknown>;
  /**
   * A translated request without what its vendor's refusal, given as text, says that this model or
   * account doesn't get; undefined where the refusal is about something else.
   */
  withoutRefused?(
    request: Readonly<Record<string, unknown>>,
    refusal: string,
  ): Record<string, unknown> | undefined;
  /** For a dialect whose callers may leave a call to the service and come back for its answer. */
  readonly background?: BackgroundForm;
  /** For a dialect whose clients compare the model that answered with the one that they asked. */
  readonly naming?: Naming;
}

/** Exchanges the model's name in an answer's own text; everything else stays as it was written. */
export interface Naming {
  /** In a whole answer. */
  whole(text: string, model: string): string;
  /** In one event of a stream; gives its bytes. */
  event(event: SseEvent, model: string): Uint8Array;
}

/** How a dialect's calls go on without their caller. */
export interface BackgroundForm {
  /** Whether the request, as JSON value, asks for it. */
  isAsked(body: unknown): boolean;
  /**
   * The request as a vendor gets it, which knows nothing of it and is asked for a stream, given as
   * JSON value and text.
   */
  forVendor(body: unknown, bodyText: string): { body: unknown; bodyText: string };
  /** The answer before there is one, as JSON text. `created` is Unix time in seconds. */
  queued(body: unknown, call: { id: string; model: string; created: number }): string;
  /** The same at another place, given `queued`'s text. */
  moved(queuedText: string, to: "in_progress" | "cancelled" | { failed: Fault }): string;
  /** A call's answer under the id that its caller knows, given both as JSON value and text. */
  answered(answer: unknown, queuedText: string): unknown;
  /** How an answer ended, given its text. */
  stateOf(answerText: string): "completed" | "incomplete";
  /** The request has the vendor do what may not be done twice. */
  hasEffects(body: unknown): boolean;
}

/** What of a request says how it was asked: to be exchanged when it is asked again for itself. */
export interface Asking {
  /** Model and streaming stand in the path; `readRequest` finds them in the body all the same. */
  readonly modelInPath: boolean;
  /** Members that ask for a stream. */
  readonly streaming: readonly string[];
  /** Further members to leave out: keeping the answer. */
  readonly drop: readonly string[];
  /** Members to put in, as JSON text. */
  readonly set: readonly (readonly [key: string, valueText: string])[];
}

/** A call whose caller lets its answer be kept, to a vendor that is to keep nothing. */
export interface StatelessCall {
  /** Reasoning is asked for sealed, to be kept here; the caller didn't ask for it. */
  readonly sealReasoning: boolean;
  /** The text of a whole answer, or of an event's data, as the caller is to see it. */
  show(text: string): string;
}

/** The endpoint of a dialect that counts tokens: towards the vendor, and for the caller. */
export interface Counting {
  /** Path of the count, appended to the vendor's base address. */
  path(model: string): string;
  /** Body that asks the vendor to count a request, given the request as JSON value. */
  requestBody(request: Readonly<Record<string, unknown>>, model: string): unknown;
  /** The count in the vendor's answer. */
  read(answer: unknown): number | undefined;
  /** The request whose tokens a caller's body asks for. */
  counted(body: unknown): Readonly<Record<string, unknown>>;
  /** The answer for the caller. */
  write(tokens: number): unknown;
}

/** A flag that some servers don't know and refuse. */
export interface UsageFlag {
  /** Whether a vendor's refusal, given as its text, is about the flag. */
  isRefusedIn(refusal: string): boolean;
  /** An encoded request without the flag. */
  without(request: Readonly<Record<string, unknown>>): Record<string, unknown>;
}

/** How a dialect's callers continue an answer by its id; the gateway keeps what it takes. */
export interface Conversation {
  /** Path of the field that names the answer to be continued. */
  readonly previousField: string;
  /** Id of the answer that a request continues. */
  previousId(body: unknown): string | undefined;
  /** Whether the caller lets the answer be kept. */
  wantsStored(body: unknown): boolean;
  /** What the request adds to the conversation; JSON values. */
  inputItems(body: unknown): readonly unknown[];
  /** Id under which the caller knows an answer, given the answer as JSON value. */
  answerId(answer: unknown): string | undefined;
  /** Ids of kept items that the request refers to in place of giving them. */
  referencedIds(body: unknown): readonly string[];
  /** Ids of the items in an answer, by which later requests may refer to them. */
  itemIds(answer: unknown): readonly string[];
  /** The request with its references replaced by the items of these answers. */
  resolve(
    request: { body: unknown; bodyText: string },
    answers: readonly unknown[],
  ): { body: unknown; bodyText: string };
  /** Ids of reasoning among these items that was not sealed for whoever keeps no state. */
  unsealedIds(items: unknown): readonly string[];
  /** The items with reasoning sealed as `find` knows it by its id. */
  sealItems(items: unknown, find: (id: string) => string | undefined): unknown;
  /** The request with the reasoning of its own input sealed; what `find` doesn't know is left out. */
  sealInput(
    request: { body: unknown; bodyText: string },
    find: (id: string) => string | undefined,
  ): { body: unknown; bodyText: string };
  /** The request with the kept conversation in front, as value and in its own text. */
  continueFrom(
    stored: {
      body: unknown;
      bodyText: string;
      /** Of the whole conversation up to the kept answer. */
      inputItems: readonly unknown[];
      answer: unknown;
    },
  ): { body: unknown; bodyText: string };
}

/** Writes events of a stream in the dialect's other form; gives text to send, which may be empty. */
export interface StreamReframer {
  event(event: SseEvent): string;
  /** After the last event of an answer that ended well. */
  end(): string;
  /** Ends the stream with an error. */
  fail(fault: Fault): string;
}

/** What a vendor does differently within a dialect; a field of its row. */
export interface DialectQuirks {
  /** Reasoning tokens are reported beside, not inside, the output. */
  additiveReasoning?: boolean;
  /** The vendor's servers know the output limit by its older name. */
  olderTokenLimit?: boolean;
  /** Settings that some of its models refuse; left out of translated calls, and reported. */
  refuses?: readonly RefusedSettings[];
}

/** Facts of a request that routing, limits, price and record need. */
export interface RequestFacts {
  /** As the caller wrote it. */
  model: string;
  stream: boolean;
  /** Whether the caller asked to see usage in its stream; always true where it isn't asked for. */
  wantsStreamUsage: boolean;
  endUser: string | undefined;
  /** The caller's own bound on the output, all answers together. */
  maxOutputTokens: number | undefined;
  /** How many answers are asked for. */
  choices: number;
  /** The dearer or cheaper service that is asked for, by the name that prices know it by. */
  serviceTier: string | undefined;
  tags: PromptTags;
  /** Where tag lines stand in the body: path of the text and how many units to cut. */
  tagBlocks: { path: readonly (string | number)[]; units: number }[];
}

/** What the pass-through lane changes in a request's text. */
export interface RequestChanges {
  /** Model name for the vendor. */
  model: string;
  /** Whether to ask the vendor for usage in a stream. */
  askStreamUsage: boolean;
  /** The vendor is to keep nothing; reasoning may have to be sealed for that. */
  keepNothing?: { sealReasoning: boolean };
}

/** Decodes one streamed answer, event by event. */
export interface StreamDecoder {
  decode(event: SseEvent): DecodedEvent;
  /** Called once after the last event: closes open blocks. False when the answer never ended. */
  end(): { events: CanonicalEvent[]; complete: boolean };
}

export interface DecodedEvent {
  events: CanonicalEvent[];
  /**
   * True for an event that holds usage and nothing else: a caller who did not ask for usage does
   * not get to see it.
   */
  usageOnly: boolean;
  /** True for the event after which nothing is missing, such as `[DONE]`. */
  terminal: boolean;
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
