import { type SseEvent, SseSplitter } from "../base/sse.ts";
import type { CanonicalEvent } from "../dialects/kernel/canonical.ts";
import type { DecodedEvent, StreamDecoder } from "../dialects/kernel/dialect.ts";
import { Fault } from "../shared/fault.ts";
import type { VendorCallContext } from "./ask_vendor.ts";
import type { Meter } from "./meter.ts";
import type { Forwarded, StreamPlan } from "./plan/text_plan.ts";
import type { StreamListener, StreamOutput, StreamRecord } from "./stream_forwarder.ts";

/** An event larger than this ends the stream: images in events are a few MiB at most. */
const maxEventBytes = 32 * 1024 * 1024;

/**
 * Decodes a vendor's stream event by event and hands each on as the call's plan says, while the
 * meter listens.
 */
export class TextStreamListener implements StreamListener {
  readonly #vendorCall: VendorCallContext;
  readonly #meter: Meter;
  readonly #plan: StreamPlan;
  readonly #decoder: StreamDecoder;
  readonly #splitter = new SseSplitter({ maxEventBytes });
  #isTerminated = false;
  #isDecoded = false;

  constructor(
    { vendorCall, meter, plan, decoder }: {
      vendorCall: VendorCallContext;
      meter: Meter;
      plan: StreamPlan;
      decoder: StreamDecoder;
    },
  ) {
    this.#vendorCall = vendorCall;
    this.#meter = meter;
    this.#plan = plan;
    this.#decoder = decoder;
  }

  get keepAlive(): StreamPlan["keepAlive"] {
    return this.#plan.keepAlive;
  }

  take(piece: Uint8Array, output: StreamOutput): void {
    this.#takeEvents(this.#splitter.push(piece), output);
  }

  end(output: StreamOutput): Uint8Array | undefined {
    this.#takeEvents(this.#splitter.end().filter(isWhole), output);
    const rest = this.#endDecoding();
    if (rest.complete) return this.#forward(rest.events, () => this.#plan.end(rest.events)).bytes;
    this.#meter.listen(rest.events);
    if (output.hasBegun) throw new Fault("upstream_stream_truncated");
    // Not one event: the body was empty, or no event stream at all.
    throw new Fault("upstream_invalid_response", { note: "a stream without an event" });
  }

  cut(): void {
    this.#meter.listen(this.#endDecoding().events);
  }

  fail(fault: Fault): Uint8Array {
    return this.#plan.fail(fault);
  }

  settle(isComplete: boolean): StreamRecord {
    // A caller that leaves after the last event has had the whole answer.
    if (isComplete && !this.#isDecoded) this.#meter.listen(this.#endDecoding().events);
    return {};
  }

  #takeEvents(events: readonly SseEvent[], output: StreamOutput): void {
    let run: Uint8Array | undefined;
    for (const event of events) {
      const bytes = this.#takeEvent(event, output);
      if (!bytes) continue;
      // Events that lie side by side in one piece leave as one.
      const joined = run && adjacent(run, bytes);
      if (!joined && run) output.send(run);
      run = joined ?? bytes;
    }
    if (run) output.send(run);
  }

  /** What the caller gets of an event. */
  #takeEvent(event: SseEvent, output: StreamOutput): Uint8Array | undefined {
    const decoded = this.#decoder.decode(event);
    // Whatever follows the last event, but for usage, is no part of this answer.
    if (this.#isTerminated && !isAfterword(decoded)) return undefined;
    const failure = decoded.events.find((one) => one.type === "error");
    if (failure) {
      // What stands beside the error was made, and is billed, all the same.
      this.#meter.listen(decoded.events);
      throw this.#vendorCall.fault(failure.error);
    }
    const { bytes } = this.#forward(decoded.events, () => this.#plan.forward(event, decoded));
    if (event.data !== undefined) output.begin();
    if (decoded.terminal) {
      this.#isTerminated = true;
      output.complete();
    }
    return bytes;
  }

  /** The meter hears what the caller gets; where that can't be made, what the vendor sent. */
  #forward(events: readonly CanonicalEvent[], make: () => Forwarded): Forwarded {
    let made: Forwarded;
    try {
      made = make();
    } catch (thrown) {
      this.#meter.listen(events);
      throw thrown;
    }
    this.#meter.listen(made.events);
    return made;
  }

  #endDecoding(): ReturnType<StreamDecoder["end"]> {
    this.#isDecoded = true;
    return this.#decoder.end();
  }
}

/** Usage may come behind the end, and some vendors send the end twice. */
function isAfterword({ events, terminal }: DecodedEvent): boolean {
  return terminal || (events.length > 0 && events.every(({ type }) => type === "usage"));
}

/** A last event may lack its blank line; half an event is a cut, not an invalid answer. */
function isWhole({ terminated, data }: SseEvent): boolean {
  if (terminated || data === undefined || data.trim() === "[DONE]") return true;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}

/** The two views as one when the second begins where the first ends. */
function adjacent(first: Uint8Array, second: Uint8Array): Uint8Array | undefined {
  if (first.buffer !== second.buffer || first.byteOffset + first.length !== second.byteOffset) {
    return undefined;
  }
  return new Uint8Array(first.buffer, first.byteOffset, first.length + second.length);
}
