import type { SocketFrames } from "./socket_frames.ts";
import type { Conversation } from "./conversation.ts";
import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { Fault } from "../../shared/fault.ts";
import type { CountedWork, Usage } from "../../shared/usage.ts";
import type { PromptTags } from "../../shared/prompt_tags.ts";
import type { SseEvent } from "../../base/sse.ts";
import type { Steps } from "../../base/steps.ts";
import type { CanonicalAnswer, CanonicalEvent, StartEvent } from "./canonical.ts";
import type { HostedWork } from "./hosted.ts";
import type { BodyAndText, JsonRecord } from "./json.ts";
import type { RecordedFields } from "./recorded_fields.ts";
import type { ToolDemand } from "./tool_demand.ts";
import type { RefusedSettings, SupportedEfforts } from "./refused_settings.ts";
import type { CanonicalRequest, Loss, MediaPart } from "./canonical_request.ts";

/**
 * One wire format: requests and answers, decoded into the canonical form, encoded out of it, and
 * spliced as text when vendor and caller both speak it. Pure: no I/O, clock or randomness, and no
 * other dialect; ids and times are passed in. Those in `src/dialects/text/` have the same files
 * and exports (docs/developing.md, "Adding a dialect").
 */
export interface Dialect<Name extends DialectName = DialectName>
  extends RequestCodec, AnswerCodec, OptionalForms {
  readonly name: Name;
  /** What its calls are called in traces, by OpenTelemetry's GenAI conventions. */
  readonly spanOperation: "chat" | "generate_content";
}

/**
 * Requests: how the gateway reads them and writes them for a vendor. A request may be large, so it
 * is changed and translated in steps; `finish` (`src/base/steps.ts`) runs all steps at once.
 */
interface RequestCodec extends RecordedFields {
  /** Returns what the gateway must know about a request; `body` has passed the contract. */
  readRequest(body: unknown): RequestFacts;
  /**
   * Returns the request's text with the model, the tag lines and a few settings changed, for a
   * vendor of the same dialect. Everything else stays byte for byte as the caller wrote it.
   */
  spliceRequest(bodyText: string, facts: RequestFacts, changes: RequestChanges): Steps<string>;
  /**
   * Reads a caller's request; `body` has passed the contract, and its prompt tags have been cut.
   * Throws `Fault` (invalid_value, missing_required_field…) naming the field by its path.
   */
  decodeRequest(body: unknown): Steps<CanonicalRequest>;
  /**
   * Writes a request for a vendor; what can't be carried is reported as a loss, never dropped
   * silently.
   */
  encodeRequest(request: CanonicalRequest, target: Target): Steps<EncodedRequest>;
  /** The vendor-side work and the state in the vendor's account that a request uses. */
  hostedWork(body: unknown): Steps<HostedWork>;
  /**
   * Counts the vendor-side work in an answer that was cut off before it reported usage, by the
   * answer's blocks. Absent in dialects that have no such blocks or report usage throughout the
   * stream.
   */
  countHosted?(work: readonly unknown[]): CountedWork;
  /** Path of the call, appended to the vendor's base URL. */
  upstreamPath(model: string, stream: boolean): string;
  /** Members of a request that hold what is said to the model. */
  readonly promptFields: readonly string[];
  /** Whether this media's address is refused: it is fetched and sent as data. Absent: none is. */
  readonly mustInline?: (part: MediaPart, url: string) => boolean;
  readonly resendRules: ResendRules;
  /**
   * Members of a request that name its end user or label it, and that no answer repeats: requests
   * that differ only in these have the same answer.
   */
  readonly labelFields: readonly string[];
}

/** Whole answers and streams. */
interface AnswerCodec {
  /** Members of a request that its answer echoes or depends on, or that distinguish calls. */
  readonly answerFields: readonly string[];
  readonly usageMember: string;
  /** Returns the usage in a value of `usageMember`; undefined if it holds no numbers. */
  readRawUsage(raw: unknown, quirks: DialectQuirks): Usage | undefined;
  /**
   * Returns the events of a whole answer, given its parsed JSON. Throws `Fault` if it isn't an
   * answer; an error inside a 200 becomes an error event.
   */
  decodeAnswer(json: unknown, quirks: DialectQuirks): Steps<CanonicalEvent[]>;
  /**
   * Returns the whole answer as a JSON value. With a context: for a caller whose vendor speaks
   * another dialect. Without: for the record, in the form in which the vendor answered.
   */
  encodeAnswer(answer: CanonicalAnswer, context?: AnswerContext): unknown;
  createStreamDecoder(quirks: DialectQuirks, choices?: number): StreamDecoder;
  createStreamEncoder(context: AnswerContext): StreamEncoder;
  /**
   * The bytes that end a stream with an error in this dialect. `begun` is what was sent before it, if
   * the vendor's own bytes are passed through.
   */
  errorFrame(fault: Fault, begun?: BegunStream): string;
}

/** A vendor's stream so far, which an error ends. */
export interface BegunStream {
  /** The caller's request. */
  readonly body: unknown;
  /** Undefined if the stream hasn't said so yet. */
  readonly start: StartEvent | undefined;
  /** The number that follows the vendor's last one, in a dialect that numbers its events. */
  readonly nextSequence: number | undefined;
}

interface OptionalForms {
  /** For a dialect whose calls have objects: reads those of an answer in steps, for `encodeAnswer`. */
  readAhead?(answer: CanonicalAnswer): Steps<void>;
  /** For a dialect whose calls have objects: members in which integers keep all their digits. */
  readonly callMembers?: ReadonlySet<string>;
  /**
   * For a dialect whose vendors store answers by default: how to make this call without the vendor's
   * storage, for its answer (`keepNothing`) and for what it continues. Undefined if the answer needs
   * no change.
   */
  stateless?(
    body: unknown,
    call: { model: string; keepNothing: boolean },
  ): StatelessCall | undefined;
  /**
   * For a dialect with a second stream form (a JSON array): rewrites the vendor's server-sent
   * events into it, for pass-through callers who asked for that form.
   */
  reframe?(): StreamReframer;
  /** For a dialect whose streams repeat the whole answer: its JSON value, if this event has it. */
  wholeOf?(event: SseEvent): unknown;
  /** For a dialect whose clients need its last event: that event, which some vendors leave out. */
  readonly lastEvent?: string;
  /**
   * For a dialect whose vendors sign their thinking: the unsigned parts of the conversation, which
   * this model would refuse; undefined if there are none.
   */
  unsignedThinking?(body: unknown, model: string): Steps<UnsignedThinking | undefined>;
  /** For a dialect whose models differ in what they accept: whether this one refuses the request. */
  refusesForm?(body: unknown, model: string, quirks: DialectQuirks): boolean;
  /** For a dialect whose callers may ask for a summary of their conversation: whether one does. */
  asksForSummary?(body: unknown): boolean;
  /** For a dialect with tools or fields that not all its vendors know: the kinds in a request. */
  extensionsIn?(body: unknown): readonly ("tools" | "fields")[];
  /** For a dialect that also has an endpoint for such summaries: the dialect as spoken there. */
  readonly compaction?: Dialect;
  /** Set on `compaction`: not every vendor of the dialect has that endpoint. */
  readonly isOptional?: true;
  /**
   * For a dialect whose answers repeat messages of earlier calls: an answer's text for its record,
   * without the content of those messages.
   */
  withoutRepeated?(answerText: string): Steps<string>;
  /** For the dialect of chat endpoints: the tool use in a request that some of them refuse. */
  toolDemand?(body: unknown): ToolDemand;
  /** For a dialect with an endpoint that counts a request's tokens. */
  readonly counting?: TokenCountEndpoint;
  /** For a dialect whose callers may continue a stored answer. */
  readonly conversation?: Conversation;
  /** For a dialect that is spoken over WebSocket too. */
  readonly socket?: SocketFrames;
  /** For a dialect whose streams report usage only if a flag asks for it. */
  readonly usageFlag?: UsageFlag;
  /**
   * Returns an encoded request without the fields that the gateway added but the model is known to
   * refuse.
   */
  fitToModel?(request: JsonRecord, model: string): Record<string, unknown>;
  /**
   * Returns a translated request without what its vendor refused for this model or account, given
   * the refusal's text; undefined if the refusal has another cause.
   */
  withoutRefused?(request: JsonRecord, refusal: string): PlainRequest | undefined;
  /** Whether a vendor refused reasoning in the conversation: another's, or that of a cut answer. */
  refusesReasoning?(refusal: string): boolean;
  /** For a dialect with background calls: the caller disconnects and fetches the answer later. */
  readonly background?: BackgroundForm;
  /** For a dialect whose clients compare the answer's model with the requested one. */
  readonly naming?: Naming;
  /** For a dialect whose requests may name fallback models. */
  readonly fallbackField?: FallbackField;
}

/**
 * The field of a request that names fallback models. Only the gateway reads it; no vendor gets it.
 */
export interface FallbackField {
  readonly name: string;
  /** Returns the names in order; undefined if it is absent. `body` has passed the contract. */
  read(body: unknown): readonly string[] | undefined;
  /** The request without the field. */
  without(body: unknown, bodyText: string): Steps<BodyAndText>;
}

/** Replaces the model's name in an answer's text; everything else stays byte for byte. */
export interface Naming {
  /** In a whole answer. */
  whole(text: string, model: string): Steps<string>;
  /** In one event of a stream; returns its data. */
  event(event: { event?: string | undefined; data: string }, model: string): Steps<string>;
}

export interface BackgroundForm {
  /** Whether the request, as a JSON value, is a background call. */
  isAsked(body: unknown): boolean;
  /** Returns the request for the vendor: a plain streaming call. */
  forVendor(body: unknown, bodyText: string): Steps<BodyAndText>;
  /** Returns the answer to a queued call, as JSON text. `created` is Unix time in seconds. */
  queued(body: unknown, call: { id: string; model: string; created: number }): string;
  /** Returns `queued`'s text with another status. */
  moved(queuedText: string, to: "in_progress" | "cancelled" | { failed: Fault }): string;
  /** Returns the answer, a JSON value, under the id that the caller knows from `queued`'s text. */
  answered(answer: unknown, queuedText: string): unknown;
  /** How an answer, a JSON value, ended. */
  stateOf(answer: unknown): "completed" | "incomplete";
  /** Whether the request has effects at the vendor that must not happen twice. */
  hasEffects(body: unknown): boolean;
}

/** How to change a stored request to send it again. */
interface ResendRules {
  /**
   * Whether the path holds the model and the choice of streaming; `readRequest` reads them from the
   * body even so.
   */
  readonly modelInPath: boolean;
  /** Members that ask for a stream. */
  readonly streaming: readonly string[];
  /** Further members to remove: those that store the answer. */
  readonly drop: readonly string[];
  /** Members to add, as JSON text. */
  readonly set: readonly (readonly [key: string, valueText: string])[];
}

/** A call whose answer may be stored, made to a vendor that must store nothing. */
export interface StatelessCall {
  /** Whether the gateway, not the caller, requests sealed reasoning, in order to store it. */
  readonly sealReasoning: boolean;
  /** Returns the text of a whole answer, or of an event's data, as the caller sees it. */
  show(text: string): Steps<string>;
}

/** A dialect's endpoint for counting tokens: the vendor's side and the caller's. */
export interface TokenCountEndpoint {
  /** Path of the count, appended to the vendor's base URL. */
  path(model: string): string;
  /** The body that asks the vendor to count a request, given as a JSON value. */
  requestBody(request: JsonRecord, model: string): unknown;
  /** The count in the vendor's answer. */
  read(answer: unknown): number | undefined;
  requestOf(body: unknown): JsonRecord;
  /** The request as a call could send it, where a count takes a part of a conversation too. */
  standAlone?(request: JsonRecord): JsonRecord;
  /** The answer for the caller. */
  write(tokens: number): unknown;
}

/** A flag that some servers refuse as unknown. */
interface UsageFlag {
  /** Whether the text of a vendor's refusal is about the flag. */
  isRefusedIn(refusal: string): boolean;
  without(request: JsonRecord): Record<string, unknown>;
}

/** Rewrites the events of a stream in the dialect's other form; returned text may be empty. */
export interface StreamReframer {
  event(event: SseEvent): string;
  /** Called after the last event of a successful answer. */
  end(): string;
  /** Ends the stream with an error. */
  fail(fault: Fault): string;
}

/** A request without what its vendor refused. */
export interface PlainRequest {
  readonly request: Record<string, unknown>;
  /**
   * The part of the refusal that names what was removed; passed as the refusal, it has the same
   * effect. Absent for what is refused in this conversation but not in others.
   */
  readonly cause?: string | undefined;
}

/** What a vendor does differently within a dialect; a field of its row. */
export interface DialectQuirks {
  /** Reasoning tokens are reported in addition to the output tokens, not as part of them. */
  additiveReasoning?: boolean;
  /** Models that refuse the older name. Pass-through calls to them get the newer one. */
  newerTokenLimit?: RegExp;
  /** Models that refuse unsigned thinking and calls; pass-through calls repair them. */
  signedThinking?: RegExp;
  /** It knows custom tools, in OpenAI's dialects; elsewhere they are functions. */
  customTools?: true;
  /** The name of one of its own tools: it refuses any function with that name. */
  reservedTool?: string;
  /** Models of its chat endpoint that can be asked for images by `modalities`. */
  imageModels?: RegExp;
  /** Settings that some of its models refuse; translated calls leave them out and report them. */
  refuses?: readonly RefusedSettings[];
  /** Models that no rule matches get the effort that was requested. */
  efforts?: readonly SupportedEfforts[];
}

/** Facts of a request that routing, limits, price and record need. */
export interface RequestFacts {
  /** As the caller wrote it. */
  model: string;
  stream: boolean;
  /** Whether the caller asked for usage in its stream; true in dialects that always report it. */
  wantsStreamUsage: boolean;
  endUser: string | undefined;
  /** The field that names the end user. */
  endUserField?: string;
  /** The session that the body names, in dialects whose clients do so. */
  session?: string;
  /** The caller's limit on the output of all choices together. */
  maxOutputTokens: number | undefined;
  /** Set if some models refuse the limit's name: `older=newer`, where they accept the newer one. */
  limitRename?: string;
  choices: number;
  serviceTier: string | undefined;
  tags: PromptTags;
  /**
   * Tag lines in the body: the path of their text, and how many UTF-16 units to cut. `isPart`: the
   * text has nothing else, so that the part that it stands in is removed.
   */
  tagBlocks: { path: readonly (string | number)[]; units: number; isPart?: boolean }[];
}

/** Changes to the text of a pass-through request. */
export interface RequestChanges {
  /** Model name for the vendor. */
  model: string;
  /** Whether to ask the vendor for usage in a stream. */
  askStreamUsage: boolean;
  /** Whether to write the output limit's newer name in place of its older one. */
  newerTokenLimit?: boolean;
  /** Set if the vendor must store nothing, which may require sealed reasoning. */
  keepNothing?: { sealReasoning: boolean };
  /** The parts of the conversation that lack a signature. */
  unsigned?: UnsignedThinking;
}

/**
 * Blocks of a conversation that came from other vendors, so that callers have them without
 * signatures: thoughts and searches to remove, or calls to give the vendor's documented
 * placeholder.
 */
export interface UnsignedThinking {
  /** Maps the index of a message to the indexes of its blocks. */
  readonly blocks: ReadonlyMap<number, ReadonlySet<number>>;
  /** Those of `blocks` with a signature that the service wrote, which no vendor accepts. */
  readonly marked?: ReadonlyMap<number, ReadonlySet<number>>;
  /** In the same form, texts that lose only their sources. */
  readonly cited?: ReadonlyMap<number, ReadonlySet<number>>;
  /** The last message that is a summary of ours; as at its vendor, it replaces all before it. */
  readonly summary?: {
    readonly index: number;
    readonly text: string;
    /** The changes of tools in what it replaces. */
    readonly toolChanges?: readonly JsonRecord[];
  };
  /**
   * Whether thinking must be off: without these blocks the last answer calls tools and has no
   * thought.
   */
  readonly switchesOff: boolean;
}

export interface StreamDecoder {
  /**
   * Whether the events so far, usage among them, may be the whole answer: at most the final event is
   * missing. Absent: an answer without its final event is incomplete.
   */
  readonly mayBeWhole?: boolean;
  /**
   * Whether all content seems to have come: at most usage and the final event are missing. Absent: an
   * answer without its final event is incomplete.
   */
  readonly mayEnd?: boolean;
  /** The number that follows the vendor's last one. Absent: the dialect doesn't number its events. */
  readonly nextSequence?: number;
  /** Reads what is long in a large event, given its JSON, in steps before `decode`. */
  readAhead?(json: unknown): Steps<void>;
  decode(event: SseEvent): DecodedEvent;
  /**
   * Decodes the events at the start of these bytes as long as they are similar to those before, at
   * a fraction of the cost of decoding one by one. Absent: the dialect has no such events.
   */
  decodeRun?(bytes: Uint8Array): DecodedRun;
  /** Closes open blocks, once, after the last event. `complete`: the answer wasn't cut off. */
  end(): { events: CanonicalEvent[]; complete: boolean };
}

export interface DecodedEvent {
  events: CanonicalEvent[];
  /** True for an event with nothing but usage, which callers who didn't ask for usage don't get. */
  usageOnly: boolean;
  /** True for the event that completes the answer, such as `[DONE]`. */
  terminal: boolean;
}

/** Several events, none of which reports usage or completes the answer. */
export interface DecodedRun {
  events: CanonicalEvent[];
  /** Length of these events in bytes; 0 if the first event has to be decoded by itself. */
  length: number;
  /** The event after them, if it is an error. */
  failure: DecodedEvent | undefined;
}

/** The model and vendor that a request is encoded for. */
export interface Target {
  /** The vendor's own name of the model. */
  model: string;
  /** The model's limit of output tokens from the price table or the vendor's list, if known. */
  maxOutputTokens: number | undefined;
  /** What the vendor does differently within the dialect. */
  quirks?: DialectQuirks;
  /**
   * How to offer the vendor's web search; absent: there is none. `options`: the chat dialect's own
   * field, on models that always search; `tool`: among the tools.
   */
  webSearch?: "tool" | "options";
  /** The form of cache marks: that of the messages dialect, or breakpoints. Absent: none. */
  cacheMarks?: "ephemeral" | "breakpoints";
  /** What the vendor accepts beside marks: a cache key, or also how its cache works. */
  cacheSettings?: "key" | "all";
  /** Set cache marks for callers that set none, if the prompt is long enough to benefit. */
  autoCache?: boolean;
}

export interface EncodedRequest {
  /** JSON value of the vendor's request. */
  body: Record<string, unknown>;
  losses: Loss[];
  emulations: Emulations;
}

/**
 * What was emulated in the request and must be reversed on the canonical events of the answer
 * (`response_rewriter.ts`, for every dialect).
 */
export interface Emulations {
  /** Alias sent to the vendor → the caller's tool name. */
  toolNames: Readonly<Record<string, string>>;
  /** Custom tools sent as functions with one string property `input`. */
  customTools: readonly string[];
  /** Tool whose arguments are the answer's text (emulated JSON schema); finish becomes `stop`. */
  jsonTool: string | undefined;
  /**
   * If the schema's root had to be wrapped, the member that holds the answer: in the arguments of
   * `jsonTool`, or in the text if there is no such tool.
   */
  jsonUnwrap: string | undefined;
  /** Whether to remove a code fence around the text (emulated JSON mode). */
  stripFence: boolean;
}

/** For a request in which nothing was emulated. */
export const noEmulations: Emulations = {
  toolNames: {},
  customTools: [],
  jsonTool: undefined,
  jsonUnwrap: undefined,
  stripFence: false,
};

/** What an encoder needs to write the caller's answer, besides its events. */
export interface AnswerContext {
  /** Generates ids: `id("chatcmpl-")` returns a new one with this prefix. */
  id: (prefix: string) => string;
  /** Unix time in seconds at which the answer began. */
  created: number;
  /** Model to show if the vendor names none. */
  model: string;
  /** Model to show regardless of the one that the vendor names. */
  shownModel?: string | undefined;
  /** Only what is needed of the caller's request, which may be large. */
  request: Pick<
    CanonicalRequest,
    "reasoning" | "namespaces" | "choices" | "asksForSummary" | "toolChanges"
  >;
  /** The caller's body, for the fields that are echoed. */
  body: unknown;
  /** Whether the caller asked to see usage in its stream. */
  showUsage: boolean;
  /** Prompt tokens counted beforehand, for dialects that state them at the start. */
  inputTokens: number;
  /** The current Unix time in seconds, for dialects that report when an answer ended. */
  now?: () => number;
  /** Stream as one JSON array instead of server-sent events, if the dialect has both forms. */
  jsonArray?: boolean;
}

/** Writes one streamed answer in a dialect; returned text may be empty. */
export interface StreamEncoder {
  /** Default: `text/event-stream`. */
  readonly contentType?: string;
  encode(event: CanonicalEvent): string;
  /** Called after the last event of a successful answer. */
  end(): string;
  /** Ends the stream with an error in the dialect's own form. */
  fail(fault: Fault): string;
  /** Bytes without meaning in this dialect (a comment, a ping), valid between two events. */
  keepAlive(): string;
}
