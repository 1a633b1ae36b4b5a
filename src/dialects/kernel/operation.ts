import type { OperationKind } from "../../../contracts/calls/vendors.ts";
import type { Edit, Members } from "../../base/json_text.ts";
import type { SseEvent } from "../../base/sse.ts";
import type { BillingBasis, FinishReason } from "../../shared/interaction.ts";
import type { BillableUsage, BoundInput, PriceRow } from "../../pricing/pricing.ts";
import type { MediaField } from "./media_field.ts";
import type { VendorError } from "./vendor_error.ts";
import type { OperationRequest } from "./operation_request.ts";

/**
 * One kind of call that is none of the chat dialects: pictures, speech, transcripts, embeddings, as
 * chat-style vendors take them on paths of their own and the generate dialect's models as methods.
 * Requests and answers go on as they are; this tells what they cost and how they are recorded.
 * Pure.
 */
export interface Operation {
  readonly kind: OperationKind;
  /** The record's `dialect`. */
  readonly name: "images" | "speech" | "transcriptions" | "embeddings";
  /** Where its requests and answers, as they are recorded, hold media. */
  readonly mediaFields: readonly MediaField[];
  /** Where the text is that may begin with tag lines. */
  readonly promptPath?: JsonPath;
  /** What a JSON text is changed by to name the vendor's model; absent: its member `model`. */
  modelEdits?(json: JsonObjectText, request: OperationRequest, model: string): Edit[];
  /** What a request can come to at most. */
  bound(request: OperationRequest): BoundInput;
  /** Listens to the answer to one request. */
  reader(request: OperationRequest): AnswerReader;
}

/** Keys of objects and indexes of arrays, from the outermost on. */
export type JsonPath = readonly [string, ...(string | number)[]];

/** A request's JSON text, and where its members stand. */
export interface JsonObjectText {
  readonly text: string;
  readonly top: Members;
}

/** Hears one answer, in whichever of the three forms it comes. */
export interface AnswerReader {
  /** A whole answer of text: JSON, or a transcript in another form. Throws `Fault` on no answer. */
  whole(text: string, contentType: string): void;
  /** An event of a stream. */
  event(event: SseEvent): OperationEvent;
  /** A piece of a binary answer, which may be kept. */
  bytes(piece: Uint8Array, contentType: string): void;
  /** What the answer came to so far; undefined while nothing was made. */
  outcome(ending: { isComplete: boolean; price: PriceRow | undefined }): Outcome | undefined;
}

/** What an event of a stream tells beside its content. */
export interface OperationEvent {
  /** Nothing that matters comes after it. */
  readonly isLast?: boolean;
  /** More may come, but the answer is whole if the vendor ends it here. */
  readonly isEnough?: boolean;
  readonly error?: VendorError;
}

export interface Outcome {
  readonly usage: BillableUsage;
  readonly basis: BillingBasis;
  readonly finish?: FinishReason;
  /** JSON text for the record; absent where the answer's own text is JSON. */
  readonly recordText?: string;
  /** Too much was said to be kept whole. */
  readonly isTruncated?: boolean;
}
