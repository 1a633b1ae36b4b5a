import type { OperationKind } from "../../../contracts/calls/vendors.ts";
import type { Edit, Members } from "../../base/json_text.ts";
import type { SseEvent } from "../../base/sse.ts";
import type { Steps } from "../../base/steps.ts";
import type { BillingBasis, FinishReason } from "../../shared/interaction.ts";
import type { BillableUsage, BoundInput, PriceRow } from "../../pricing/pricing.ts";
import type { InputTokenBounds } from "../../shared/token_estimate.ts";
import type { HostedWork } from "./hosted.ts";
import type { JsonRecord } from "./json.ts";
import type { MediaField } from "./media_field.ts";
import type { VendorError } from "./vendor_error.ts";
import type { OperationRequest } from "./operation_request.ts";

/**
 * A kind of call other than text generation: images, speech, transcripts, embeddings, which
 * chat-style vendors offer on separate paths and Google as methods of its models. Requests and
 * answers are passed on; this determines what they cost and how they are recorded. Pure.
 */
export interface Operation {
  readonly kind: OperationKind;
  /** The record's `dialect`. */
  readonly name: "images" | "speech" | "transcriptions" | "embeddings";
  /** Fields of its requests and answers, as recorded, that hold media. */
  readonly mediaFields: readonly MediaField[];
  /** Path of the text that may start with tag lines. */
  readonly promptPath?: JsonPath;
  /**
   * Returns the edits that write the vendor's model name; absent: the member `model` is replaced.
   */
  modelEdits?(json: JsonObjectText, request: OperationRequest, model: string): Steps<Edit[]>;
  /**
   * Maximum number of JSON values in a whole answer; absent: the limit for any other vendor answer.
   */
  readonly maxValues?: number;
  /** The vendor-side work that its fields ask for besides running the model. */
  hostedWork?(fields: JsonRecord): Steps<HostedWork>;
  /** The text whose tokens count towards the bound; absent: none. */
  countedText?(request: OperationRequest): string;
  /** The most that a request can cost, if `countedText` has so many tokens. */
  bound(request: OperationRequest, counted: InputTokenBounds): BoundInput;
  reader(request: OperationRequest): AnswerReader;
}

/** Keys of objects and indexes of arrays, from the outermost on. */
export type JsonPath = readonly [string, ...(string | number)[]];

/** A request's JSON text, and the ranges of its members. */
export interface JsonObjectText {
  readonly text: string;
  readonly top: Members;
}

export interface AnswerEnding {
  readonly isComplete: boolean;
  readonly price: PriceRow | undefined;
  /** Whether the cost that the vendor reports is distrusted. */
  readonly ignoresCost?: boolean;
}

export interface AnswerReader {
  /**
   * A whole text answer: JSON, or a transcript in another form. Throws `Fault` if it isn't an
   * answer.
   */
  whole(text: string, contentType: string): void;
  /**
   * The same for JSON that is parsed already, in steps, since it is large. Absent: `whole` reads
   * large answers, too.
   */
  json?(value: unknown): void;
  event(event: SseEvent): OperationEvent;
  /** A piece of a binary answer; the reader may retain it. */
  bytes(piece: Uint8Array, contentType: string): void;
  /** The outcome so far; undefined if nothing was produced. */
  outcome(ending: AnswerEnding): Outcome | undefined;
}

/** The meaning of a stream's event, besides its content. */
export interface OperationEvent {
  /** Nothing relevant follows. */
  readonly isLast?: boolean;
  /** More may follow, but the answer is complete if the vendor ends it here. */
  readonly isComplete?: boolean;
  readonly error?: VendorError;
}

export interface Outcome {
  readonly usage: BillableUsage;
  readonly basis: BillingBasis;
  readonly finish?: FinishReason;
  /** JSON text for the record; absent if the answer is JSON itself. */
  readonly recordText?: string;
  /** The answer was too large to be stored whole. */
  readonly isTruncated?: boolean;
}
