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
  /** What the request asks the vendor to run or store, besides the model's work. */
  readonly hosted: HostedWork;
  /** The request's text for the vendor. */
  readonly requestText: string;
  /**
   * Returns the request without the usage flag, for servers that don't know it; undefined where the
   * dialect has no such flag.
   */
  plainRequestText(): Steps<string | undefined>;
  /**
   * Rewrites a request for a stream into one for a whole answer, for models that can't stream.
   * Absent where the caller would notice. Returns the same text where the vendor's path, not the
   * body, asks for a stream.
   */
  wholeRequestText?(requestText: string): Steps<string>;
  /** Paths in the caller's request of fields that could not be carried. */
  readonly losses: readonly string[];
  /** A field that was passed on under another name: `older=newer`. */
  readonly renamed?: string | undefined;
  /** Turns the vendor's whole answer into the caller's. */
  whole(answer: VendorAnswer): Steps<WholeAnswer>;
  stream(): StreamPlan;
  /** Returns the folded answer for the record, in the caller's dialect. */
  encodeFolded(answer: CanonicalAnswer): Steps<unknown>;
  /** Returns the reasoning of this answer that a vendor needs back in the next turn. */
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
  /** The body's text for the record, without what it repeats of earlier calls. */
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
  /** Changes a large event, in steps, before `forward` gets it. */
  changeAhead?(event: SseEvent): Steps<void>;
  /** Returns the events as the caller's answer holds them, and what to send. */
  forward(event: SseEvent, decoded: DecodedEvent): Forwarded;
  /**
   * Does the same for several events in a row, given their bytes together; absent where each event
   * must be looked at separately.
   */
  forwardRun?(bytes: Uint8Array, events: readonly CanonicalEvent[]): Forwarded;
  /** Whether `forward` may get what an event holds in several slices, one after the other. */
  readonly takesSlices?: true;
  /** UTF-16 units so far of a call's arguments, which some dialects write when the call ends. */
  unitsOfCall?(block: number): number;
  /** Returns the end of the caller's stream, once the vendor's answer has ended well. */
  end(rest: readonly CanonicalEvent[]): Forwarded;
  /**
   * Returns the bytes that end the stream with an error in the caller's dialect. `nextSequence` is the
   * number that follows the vendor's last event, if those are numbered.
   */
  fail(fault: Fault, nextSequence?: number): Uint8Array;
  /**
   * Sent whenever a stream was silent for `afterMs`; absent where the bytes are the vendor's own.
   */
  readonly keepAlive?: { afterMs: number; bytes(): Uint8Array };
}

export interface Forwarded {
  events: readonly CanonicalEvent[];
  /**
   * Text is sent as UTF-8, in one piece with that of adjacent events; undefined: nothing is sent.
   */
  sent: Uint8Array | string | undefined;
}
