import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { Opaque } from "./canonical_request.ts";
import type { FinishReason } from "../../shared/interaction.ts";
import type { Usage } from "../../shared/usage.ts";
import type { VendorError } from "./vendor_error.ts";
import { type JsonRecord } from "./json.ts";

/**
 * The canonical form of an answer: a sequence of events. A whole answer is the fold of its events
 * (`fold.ts`). A dialect is a decoder into this form and an encoder out of it; no dialect knows
 * another.
 */
export type CanonicalEvent =
  | StartEvent
  | BlockEvent
  | DialectFieldsEvent
  | UsageEvent
  | FinishEvent
  | ErrorEvent;

/** The first event of an answer. */
export interface StartEvent {
  type: "start";
  id: string | undefined;
  /** The model that the vendor says it used. */
  model: string | undefined;
  /** Unix time in seconds. */
  created: number | undefined;
  /** The service tier, if the vendor names it from the start. */
  serviceTier?: string;
}

/** The content of a block. Only tool calls may be open at the same time. */
export type BlockKind =
  /** `isTranscript`: the text is spoken in the answer's audio. */
  | { kind: "text"; isTranscript?: true }
  | { kind: "reasoning" }
  | { kind: "refusal" }
  /** `id` is empty where the vendor gave none. */
  | { kind: "tool-call"; id: string; name: string; custom: boolean }
  /** Deltas are pieces of base64. */
  | { kind: "media"; media: "image" | "audio"; mimeType: string; id: string | undefined }
  /**
   * Vendor-side work, which only its dialect can express. For a web search, `search` describes it
   * to the other dialects; query and results are one block or two, depending on the dialect.
   */
  | { kind: "vendor"; dialect: DialectName; value: unknown; search?: SearchWork };

/** A web search by the vendor: its queries, its results, or both. */
export interface SearchWork {
  /** The same in both halves of a search. */
  id: string;
  queries?: readonly string[];
  results?: readonly { url: string; title: string | undefined }[];
}

/** A block opens. `block` numbers the blocks of the whole answer and identifies its events. */
export interface BlockStartEvent {
  type: "block-start";
  /** Which of several answers (`n`, candidates), from 0. */
  choice: number;
  block: number;
  content: BlockKind;
}

/** A piece of the block: text, reasoning, or JSON text of a tool call's arguments. */
export interface BlockDeltaEvent {
  type: "block-delta";
  choice: number;
  block: number;
  text: string;
  logprobs?: readonly TokenLogprob[];
}

export interface BlockEndEvent {
  type: "block-end";
  choice: number;
  block: number;
  /** What the vendor needs back unchanged with this block: a signature, sealed reasoning. */
  opaque?: Opaque;
  own?: DialectFields;
}

/**
 * Fields of an answer, a choice or a block that no other dialect has, as the vendor sent them. The
 * records of streams and stored conversations keep them, as those of whole answers do.
 */
export interface DialectFields {
  dialect: DialectName;
  fields: JsonRecord;
}

/** Own fields of one choice, or of the whole answer if `choice` is undefined. */
export interface DialectFieldsEvent {
  type: "own";
  choice: number | undefined;
  own: DialectFields;
}

/** A source of an open block's text. */
export interface CitationEvent {
  type: "citation";
  choice: number;
  block: number;
  citation: Citation;
}

export interface Citation {
  url: string;
  title: string | undefined;
  /** The cited range of the block's text in UTF-16 units, end excluded, if the vendor gives one. */
  start: number | undefined;
  end: number | undefined;
}

/** An event that belongs to one block. */
export type BlockEvent = BlockStartEvent | BlockDeltaEvent | BlockEndEvent | CitationEvent;

/** Usage so far; each event replaces the one before. */
export interface UsageEvent {
  type: "usage";
  usage: Usage;
  /** True if reported before the answer began: its output tokens are unreported. */
  isEarly?: true;
  /** The output tokens that such a report names: the least that the vendor has produced by then. */
  outputSoFar?: number;
}

/** The vendor ended a choice. `reason` is the unified reason, `raw` the vendor's own. */
export interface FinishEvent {
  type: "finish";
  choice: number;
  reason: FinishReason;
  raw: string;
  /** The stop sequence that ended the answer, where the vendor names it. */
  stopSequence?: string;
}

/** The vendor reported a failure inside its answer; nothing follows. */
interface ErrorEvent {
  type: "error";
  error: VendorError;
}

/** Log-probability of one token, with its nearest alternatives. */
export interface TokenLogprob {
  token: string;
  logprob: number;
  bytes: readonly number[] | null;
  top: readonly { token: string; logprob: number; bytes: readonly number[] | null }[];
}

/** A whole answer: the fold of its events. */
export interface CanonicalAnswer {
  id: string | undefined;
  model: string | undefined;
  created: number | undefined;
  choices: CanonicalChoice[];
  usage: Usage | undefined;
  own?: DialectFields;
  /** True when the fold's cap was reached and later text was left out. */
  truncated: boolean;
  /** Set when only log-probabilities were left out. */
  lacksLogprobs?: true;
}

export interface CanonicalChoice {
  index: number;
  parts: AnswerPart[];
  logprobs: TokenLogprob[] | undefined;
  /** Undefined when the answer never ended. */
  finish: { reason: FinishReason; raw: string; stopSequence?: string } | undefined;
  own?: DialectFields;
}

/** A block after the fold: its kind and its whole text. */
export type AnswerPart = BlockKind & {
  text: string;
  opaque?: Opaque;
  citations?: Citation[];
  own?: DialectFields;
  /** A call's arguments where they were read ahead, and the text that they were read from. */
  ahead?: { readonly text: string; readonly read: JsonRecord | undefined };
};
