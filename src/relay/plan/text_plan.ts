import type { DecodedEvent, Dialect, DialectQuirks } from "../../dialects/kernel/dialect.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../dialects/kernel/canonical.ts";
import type { HostedWork } from "../../dialects/kernel/hosted.ts";
import type { SseEvent } from "../../base/sse.ts";
import type { Steps } from "../../base/steps.ts";
import type { RetainedReasoning } from "../../shared/stored_response.ts";
import type { Fault } from "../../shared/fault.ts";

/**
 * How a text request goes to its vendor and how the answer comes back: unchanged where both sides
 * speak the same dialect (`pass_through.ts`), else by way of the canonical form (`translation.ts`).
 * Both use the same meter.
 */
export interface TextPlan {
  /** The vendor's dialect. */
  readonly upstream: Dialect;
  /** Request and answer are passed on unchanged. */
  readonly sameDialect: boolean;
  readonly quirks: DialectQuirks;
  /** What the request has the vendor run or store besides the model. */
  readonly hosted: HostedWork;
  /** The request's text for the vendor. */
  readonly requestText: string;
  /** The request without the usage flag, for servers that don't know it. */
  plainRequestText(): Steps<string | undefined>;
  /**
   * A request for a stream as one for a whole answer, where the caller would not notice: some models
   * can't stream. The same text where the vendor's paths name streaming.
   */
  wholeRequestText?(requestText: string): Steps<string>;
  /** Paths in the caller's request of fields that could not be carried. */
  readonly losses: readonly string[];
  /** A field that was passed on under another name: `older=newer`. */
  readonly renamed?: string | undefined;
  /** Turns the vendor's whole answer into the caller's. */
  whole(answer: VendorAnswer): WholeAnswer;
  stream(): StreamPlan;
  /** The folded answer as the record keeps it, in the caller's dialect. */
  encodeFolded(answer: CanonicalAnswer): unknown;
  /** What the next turn's vendor will need back of this answer. */
  retainedReasoning(answer: CanonicalAnswer): RetainedReasoning[];
}

/** The vendor's whole answer: its bytes, their text and the events read out of it. */
export interface VendorAnswer {
  bytes: Uint8Array;
  text: string;
  contentType: string | undefined;
  events: readonly CanonicalEvent[];
}

export interface WholeAnswer {
  body: string | Uint8Array;
  /** Its text for the record: the same, but for what belongs to earlier calls. */
  text: string;
  /** Undefined: the vendor's own. */
  contentType: string | undefined;
  /** The events as the caller's answer holds them. */
  events: readonly CanonicalEvent[];
}

/** How one streamed answer goes to its caller. */
export interface StreamPlan {
  /** Undefined: the vendor's own. */
  readonly contentType: string | undefined;
  /** The events as the caller's answer holds them, and what to send. */
  forward(event: SseEvent, decoded: DecodedEvent): Forwarded;
  /**
   * The same for several events in a row, given their bytes together; absent where each event has to
   * be looked at by itself.
   */
  forwardRun?(bytes: Uint8Array, events: readonly CanonicalEvent[]): Forwarded;
  /** The end of the caller's stream when the vendor's answer has ended well. */
  end(rest: readonly CanonicalEvent[]): Forwarded;
  /** What ends the stream with an error in the caller's dialect. */
  fail(fault: Fault): Uint8Array;
  /**
   * What is sent whenever a stream was silent for `afterMs`; absent where the bytes are the
   * vendor's own.
   */
  readonly keepAlive?: { afterMs: number; bytes(): Uint8Array };
}

export interface Forwarded {
  events: readonly CanonicalEvent[];
  /** Text is sent as UTF-8, in one piece with that of the events beside it; undefined: nothing. */
  sent: Uint8Array | string | undefined;
}
