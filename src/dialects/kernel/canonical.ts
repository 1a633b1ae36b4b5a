import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { Opaque } from "./canonical_request.ts";
import type { FinishReason } from "../../shared/interaction.ts";
import type { Usage } from "../../shared/usage.ts";
import type { VendorError } from "./vendor_error.ts";

/**
 * The neutral form in the middle: an answer is a sequence of events, and a whole answer is the fold
 * of its events (`fold.ts`). A dialect is one decoder into this form and one encoder out of it; no
 * dialect knows another.
 */
export type CanonicalEvent =
  | StartEvent
  | BlockStartEvent
  | BlockDeltaEvent
  | BlockEndEvent
  | CitationEvent
  | UsageEvent
  | FinishEvent
  | ErrorEvent;

/** First event of an answer: what the vendor calls it. */
export interface StartEvent {
  type: "start";
  id: string | undefined;
  /** The model that the vendor says it used. */
  model: string | undefined;
  /** Unix time in seconds. */
  created: number | undefined;
}

/** What a block holds. Several blocks may be open at once only as parallel tool calls. */
export type BlockKind =
  | { kind: "text" }
  | { kind: "reasoning" }
  | { kind: "refusal" }
  /** `id` is empty where the vendor gave none. */
  | { kind: "tool-call"; id: string; name: string; custom: boolean }
  /** Deltas are pieces of base64. */
  | { kind: "media"; media: "image" | "audio"; mimeType: string; id: string | undefined }
  /**
   * A block of vendor-side work that only its dialect can say. Of a web search `search` tells the
   * others what was done: asking and finding are one block or two, by dialect.
   */
  | { kind: "vendor"; dialect: DialectName; value: unknown; search?: SearchWork };

/** A web search that the vendor made: what it asked for, what it found, or both. */
export interface SearchWork {
  /** The same for the two halves of one search. */
  id: string;
  queries?: readonly string[];
  results?: readonly { url: string; title: string | undefined }[];
}

/** A block opens. `block` counts the blocks of the whole answer and joins its events. */
export interface BlockStartEvent {
  type: "block-start";
  /** Which of several answers (`n`, candidates), from 0. */
  choice: number;
  block: number;
  content: BlockKind;
}

/** A piece of the block's text: words, reasoning, or JSON text of a tool call's arguments. */
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
  /** What the vendor needs back unmodified with this block: a signature, sealed reasoning. */
  opaque?: Opaque;
}

/** The text of an open block refers to a source. */
export interface CitationEvent {
  type: "citation";
  choice: number;
  block: number;
  citation: Citation;
}

export interface Citation {
  url: string;
  title: string | undefined;
  /** Range of the block's text in UTF-16 units, end excluded, where the vendor says it. */
  start: number | undefined;
  end: number | undefined;
}

/** Usage so far; a later one replaces an earlier one, they are never added. */
export interface UsageEvent {
  type: "usage";
  usage: Usage;
}

/** One answer ended by itself. The unified reason and the vendor's own word travel together. */
export interface FinishEvent {
  type: "finish";
  choice: number;
  reason: FinishReason;
  raw: string;
  /** The stop sequence that ended the answer, where the vendor names it. */
  stopSequence?: string;
}

/** The vendor reported a failure inside its answer; nothing follows. */
export interface ErrorEvent {
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
  /** True when the fold's cap was reached and later text was left out. */
  truncated: boolean;
}

export interface CanonicalChoice {
  index: number;
  parts: AnswerPart[];
  logprobs: TokenLogprob[] | undefined;
  /** Undefined when the answer never ended. */
  finish: { reason: FinishReason; raw: string; stopSequence?: string } | undefined;
}

/** A block after the fold: its kind and its whole text. */
export type AnswerPart = BlockKind & { text: string; opaque?: Opaque; citations?: Citation[] };
