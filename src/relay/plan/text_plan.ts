import type { DecodedEvent, Dialect, DialectQuirks } from "../../dialects/kernel/dialect.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../dialects/kernel/canonical.ts";
import type { HostedWork } from "../../dialects/kernel/hosted.ts";
import type { SseEvent } from "../../base/sse.ts";
import type { RetainedReasoning } from "../../shared/stored_response.ts";
import type { Fault } from "../../shared/fault.ts";

/**
 * How one call's request goes to its vendor and how the answer comes back: as it is where both
 * sides speak the same dialect (`pass_through.ts`), else by way of the canonical form
 * (`translation.ts`). Both end in the same meter.
 */
export interface TextPlan {
  /** The vendor's dialect. */
  readonly upstream: Dialect;
  /** The caller's request and the vendor's answer go on as they were written. */
  readonly sameDialect: boolean;
  readonly quirks: DialectQuirks;
  /** What of the vendor's request runs there beside the model, or lives there. */
  readonly hosted: HostedWork;
  /** The request's text for the vendor. */
  readonly requestText: string;
  /** The same without asking for usage in a stream, for servers that don't know the flag. */
  plainRequestText(): string | undefined;
  /** The same for a whole answer, where the caller would not notice: some models stream none. */
  wholeRequestText?(): string;
  /** Paths of what could not be carried, in the caller's words. */
  readonly losses: readonly string[];
  /** A whole answer for the caller, out of the vendor's. */
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
  /** The same as text, for the record. */
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
  /** The events as the caller's answer holds them, and the bytes to send; undefined for none. */
  forward(event: SseEvent, decoded: DecodedEvent): Forwarded;
  /** What is left to say when the vendor's answer has ended well. */
  end(rest: readonly CanonicalEvent[]): Forwarded;
  /** What ends the stream with an error in the caller's dialect. */
  fail(fault: Fault): Uint8Array;
  /** What is sent after each so long of silence; absent where the bytes are the vendor's own. */
  readonly keepAlive?: { afterMs: number; bytes(): Uint8Array };
}

export interface Forwarded {
  events: readonly CanonicalEvent[];
  bytes: Uint8Array | undefined;
}
