import { Buffer } from "node:buffer";
import { heavyUnits } from "../base/heavy_json.ts";
import type { Step } from "../base/heavy_work.ts";
import { JsonTextError } from "../base/parse_in_steps.ts";
import { type SseEvent, SseSplitter } from "../base/sse.ts";
import type { Steps } from "../base/steps.ts";
import type { CanonicalEvent } from "../dialects/kernel/canonical.ts";
import type { DecodedEvent, StreamDecoder } from "../dialects/kernel/dialect.ts";
import { Fault } from "../shared/fault.ts";
import { countedUnits, eventExcess, isHeavyText, parseWithinLimits } from "./answer_limits.ts";
import { isWholeEvent } from "./last_event.ts";
import type { Meter } from "./meter.ts";
import type { Forwarded, StreamPlan } from "./plan/text_plan.ts";
import type { StreamListener, StreamOutput, StreamRecord } from "./stream_forwarder.ts";
import type { VendorCallContext } from "./vendor_call.ts";

/** An event larger than this ends the stream: images in events are a few MiB at most. */
const maxEventBytes = 32 * 1024 * 1024;

/**
 * Decodes a vendor's stream event by event and forwards each as the call's plan says, while the
 * meter listens.
 */
export class TextStreamListener implements StreamListener {
  readonly #vendorCall: Pick<VendorCallContext, "fault">;
  readonly #meter: Meter;
  readonly #plan: StreamPlan;
  readonly #decoder: StreamDecoder;
  readonly #heavyStep: (() => Step) | undefined;
  readonly #splitter = new SseSplitter({ maxEventBytes });
  /** The caller's answer begins with its first content, not with its first event. */
  #awaitsContent: boolean;
  #isTerminated = false;
  #remainder: ReturnType<StreamDecoder["end"]> | undefined;
  /** Bytes of events that came before the content. */
  #heldBytes = 0;

  constructor(
    { vendorCall, meter, plan, decoder, awaitsContent, heavyStep }: {
      vendorCall: Pick<VendorCallContext, "fault">;
      meter: Meter;
      plan: StreamPlan;
      decoder: StreamDecoder;
      /** Another vendor could be asked as long as the answer has no content. */
      awaitsContent: boolean;
      /** Absent: large events are taken at once. */
      heavyStep?: (() => Step) | undefined;
    },
  ) {
    this.#awaitsContent = awaitsContent;
    this.#vendorCall = vendorCall;
    this.#meter = meter;
    this.#plan = plan;
    this.#decoder = decoder;
    this.#heavyStep = heavyStep;
  }

  get mayBeWhole(): boolean {
    return this.#decoder.mayBeWhole === true && this.#splitter.isBetweenEvents;
  }

  get keepAlive(): StreamPlan["keepAlive"] {
    return this.#plan.keepAlive;
  }

  /**
   * Sends the output of one piece in one write, up to an event that fails. Returns a promise if the
   * piece completes a large event, or one that decodes to many, which is taken in turns with other
   * calls.
   */
  take(piece: Uint8Array, output: StreamOutput): Promise<void> | undefined {
    const run = new Run(output);
    try {
      const rest = this.#takeRun(piece, run, output);
      return rest.length === 0 ? undefined : this.#takeRest(rest, run, output);
    } finally {
      run.send();
    }
  }

  /** Takes the last event, whose blank line may not have come. */
  takeLast(output: StreamOutput): Promise<void> | undefined {
    const whole = this.#splitter.end().filter((event) =>
      this.#isHeavy(event) || isWholeEvent(event, eventExcess)
    );
    return this.#takeAlone(whole, output) ?? this.#takeHeld(output);
  }

  end(output: StreamOutput): Uint8Array | undefined {
    const rest = this.#takeRemainder();
    const isEmpty = this.#awaitsContent && !output.hasBegun && !rest.events.some(isContent);
    if (rest.complete && !isEmpty) {
      const { sent } = this.#forward(rest.events, output, () => this.#plan.end(rest.events));
      return sent === undefined ? undefined : encoded(sent);
    }
    this.#meter.listen(rest.events);
    if (output.hasBegun || this.#heldBytes > 0) throw new Fault("upstream_stream_truncated");
    // No event at all: an empty body, or not an event stream.
    throw new Fault("upstream_invalid_response", { note: "a stream without an event" });
  }

  fail(fault: Fault): Uint8Array {
    return this.#plan.fail(fault, this.#decoder.nextSequence);
  }

  settle(): StreamRecord {
    // What had come of open blocks was produced, however the answer ends.
    this.#meter.listen(this.#takeRemainder().events);
    return {};
  }

  /**
   * Takes events one by one, and the runs of similar events between them. Looking for a run costs as
   * much as reading the rest of the piece, so each time twice as many events are taken before.
   */
  #takeRest(piece: Uint8Array, run: Run, output: StreamOutput): Promise<void> | undefined {
    let rest = piece;
    for (let events = 1; rest.length > 0; events *= 2) {
      const mayRun = rest.length > shortBytes && this.#plan.forwardRun && this.#decoder.decodeRun;
      const length = mayRun ? endOfEvents(rest, events) : rest.length;
      const some = this.#splitter.push(rest.subarray(0, length));
      const taking = this.#takeEvents(some, run, output);
      const others = rest.subarray(length);
      if (taking) return others.length > 0 ? taking.then(() => this.take(others, output)) : taking;
      rest = this.#takeRun(others, run, output);
    }
    return undefined;
  }

  #takeAlone(events: readonly SseEvent[], output: StreamOutput): Promise<void> | undefined {
    const run = new Run(output);
    try {
      return this.#takeEvents(events, run, output);
    } finally {
      run.send();
    }
  }

  /** Takes events at once, up to the first that is taken in turns with other calls. */
  #takeEvents(
    events: readonly SseEvent[],
    run: Run,
    output: StreamOutput,
  ): Promise<void> | undefined {
    for (let index = 0; index < events.length; index++) {
      const event = events[index]!;
      let decoded: DecodedEvent | undefined;
      if (!this.#isHeavy(event)) {
        checkEvent(event);
        decoded = this.#decode(event);
        if (!decoded) continue;
        if (!this.#isLong(decoded)) {
          this.#forwardDecoded(event, decoded, run, output);
          continue;
        }
      }
      run.send();
      return this.#takeInTurns(event, decoded, output)
        .then(() => this.#takeAlone(events.slice(index + 1), output));
    }
    return undefined;
  }

  /** Such an event is parsed in turns with other calls. */
  #isHeavy({ bytes, data }: SseEvent): boolean {
    if (this.#heavyStep === undefined || bytes.length <= countedUnits) return false;
    return bytes.length > heavyUnits || (data !== undefined && isHeavyText(data));
  }

  /** A small event may decode to much: the last one ends all open tool calls. */
  #isLong({ events }: Pick<DecodedEvent, "events">): boolean {
    if (this.#heavyStep === undefined || this.#plan.takesSlices !== true) return false;
    return events.length > sliceLength ||
      events.reduce((sum, event) => sum + this.#lengthOf(event), 0) > sliceLength;
  }

  /** What an event counts in a slice. */
  #lengthOf(event: CanonicalEvent): number {
    if (event.type === "block-delta") return 1 + (event.logprobs?.length ?? 0);
    if (event.type !== "block-end") return 1;
    return 1 + Math.floor((this.#plan.unitsOfCall?.(event.block) ?? 0) / unitsPerEvent);
  }

  /**
   * Parses and decodes an event in steps, unless it is decoded, and forwards it in steps. What isn't
   * JSON is left to the decoder, unless its end never came.
   */
  async #takeInTurns(
    event: SseEvent,
    decoded: DecodedEvent | undefined,
    output: StreamOutput,
  ): Promise<void> {
    const step = this.#heavyStep!();
    const { data } = event;
    if (!decoded && data !== undefined) {
      event.json = await step.inSteps(() => parseWithinLimits(data)).catch((thrown) => {
        if (!(thrown instanceof JsonTextError)) throw thrown;
        event.isNotJson = true;
      });
      if (event.isNotJson && !event.terminated) return;
    }
    await step.inSteps(() => this.#takeInSteps(event, decoded, output));
  }

  /** Takes an event; where it is translated, a slice of what it holds at a time. */
  *#takeInSteps(
    event: SseEvent,
    before: DecodedEvent | undefined,
    output: StreamOutput,
  ): Steps<void> {
    if (event.json !== undefined) yield* this.#decoder.readAhead?.(event.json) ?? [];
    const decoded = before ?? this.#decode(event);
    if (!decoded) return;
    yield;
    try {
      yield* this.#plan.changeAhead?.(event) ?? [];
    } catch (thrown) {
      this.#meter.listen(decoded.events);
      throw thrown;
    }
    yield* this.#takeSlices(decoded.events, output, (events, run, isLast) => {
      const terminal = decoded.terminal && isLast;
      this.#forwardDecoded(event, { ...decoded, events, terminal }, run, output);
    });
  }

  /** Takes, in turns, what the decoder still holds at the end, if that is much. */
  #takeHeld(output: StreamOutput): Promise<void> | undefined {
    const rest = this.#takeRemainder();
    this.#remainder = rest;
    if (!rest.complete || !this.#isLong(rest)) return undefined;
    this.#remainder = { complete: true, events: [] };
    return this.#heavyStep!().inSteps(() =>
      this.#takeSlices(rest.events, output, (events, run) => {
        const { sent } = this.#forward(
          events,
          output,
          () => this.#plan.forwardRun!(noBytes, events),
        );
        if (sent !== undefined) run.add(sent);
      })
    );
  }

  *#takeSlices(
    all: CanonicalEvent[],
    output: StreamOutput,
    take: (events: CanonicalEvent[], run: Run, isLast: boolean) => void,
  ): Steps<void> {
    const slices = this.#plan.takesSlices ? this.#slicesOf(all) : [all];
    for (const [index, events] of slices.entries()) {
      const run = new Run(output);
      try {
        take(events, run, index === slices.length - 1);
      } catch (thrown) {
        // What follows was produced as well, and is billed.
        this.#meter.listen(slices.slice(index + 1).flat());
        throw thrown;
      } finally {
        run.send();
      }
      yield;
    }
  }

  /**
   * Takes events of one kind together: most events of an answer that has begun are like those
   * before them. Returns the bytes after these events.
   */
  #takeRun(piece: Uint8Array, run: Run, output: StreamOutput): Uint8Array {
    const isInside = output.hasBegun && !this.#isTerminated && this.#splitter.isBetweenEvents;
    if (!isInside || !this.#plan.forwardRun) return piece;
    const decoded = this.#decoder.decodeRun?.(piece);
    if (decoded === undefined) return piece;
    const { events, length, failure } = decoded;
    if (length > 0) {
      const bytes = length === piece.length ? piece : piece.subarray(0, length);
      const { sent } = this.#forward(events, output, () => this.#plan.forwardRun!(bytes, events));
      if (sent !== undefined) run.add(sent);
    }
    if (failure) this.#fail(failure);
    return piece.subarray(length);
  }

  #fail({ events }: DecodedEvent): void {
    const failure = events.find((one) => one.type === "error");
    if (!failure) return;
    // What came with the error was produced, and is billed.
    this.#meter.listen(events);
    throw this.#vendorCall.fault(failure.error);
  }

  #decode(event: SseEvent): DecodedEvent | undefined {
    const decoded = this.#decoder.decode(event);
    // After the last event only usage belongs to this answer.
    if (this.#isTerminated && !mayFollowEnd(decoded)) return undefined;
    this.#fail(decoded);
    return decoded;
  }

  #forwardDecoded(event: SseEvent, decoded: DecodedEvent, run: Run, output: StreamOutput): void {
    const { sent } = this.#forward(
      decoded.events,
      output,
      () => this.#plan.forward(event, decoded),
    );
    if (!output.hasBegun && event.data !== undefined && this.#mayBegin(decoded.events, sent)) {
      output.begin();
    }
    if (decoded.terminal) {
      run.send();
      this.#isTerminated = true;
      output.complete();
    }
    if (sent !== undefined) run.add(sent);
  }

  /** The events in slices, so that each takes little time; never empty. */
  #slicesOf(events: readonly CanonicalEvent[]): CanonicalEvent[][] {
    let slice: CanonicalEvent[] = [];
    const slices = [slice];
    let length = 0;
    for (const event of events.flatMap(withFewLogprobs)) {
      if (length >= sliceLength) {
        slices.push(slice = []);
        length = 0;
      }
      slice.push(event);
      length += this.#lengthOf(event);
    }
    return slices;
  }

  #mayBegin(events: readonly CanonicalEvent[], sent: Forwarded["sent"]): boolean {
    if (!this.#awaitsContent) return true;
    this.#heldBytes += sent?.length ?? 0;
    if (!events.some(isContent) && this.#heldBytes <= maxHeldBytes) return false;
    this.#awaitsContent = false;
    return true;
  }

  /** Gives the meter the caller's events, or the vendor's where the caller's can't be made. */
  #forward(
    events: readonly CanonicalEvent[],
    output: StreamOutput,
    make: () => Forwarded,
  ): Forwarded {
    let made: Forwarded;
    try {
      made = make();
    } catch (thrown) {
      this.#meter.listen(events);
      throw thrown;
    }
    this.#meter.listen(made.events);
    if (events.length > 0) output.mayEnd(this.#decoder.mayEnd === true);
    return made;
  }

  /** What the decoder holds after the last event; nothing more is taken the next time. */
  #takeRemainder(): ReturnType<StreamDecoder["end"]> {
    const remainder = this.#remainder ?? this.#decoder.end();
    this.#remainder = { ...remainder, events: [] };
    return remainder;
  }
}

const noBytes = new Uint8Array();

/** Canonical events and log-probabilities of a slice: a few milliseconds of work in any dialect. */
const sliceLength = 512;
/** UTF-16 units of a call's arguments, which are parsed where it ends, that take as long as an event. */
const unitsPerEvent = 1024;

/** The same event, or its text with its first log-probabilities, followed by the others. */
function withFewLogprobs(event: CanonicalEvent): CanonicalEvent | CanonicalEvent[] {
  if (event.type !== "block-delta" || (event.logprobs?.length ?? 0) <= sliceLength) return event;
  const logprobs = event.logprobs!;
  return Array.from({ length: Math.ceil(logprobs.length / sliceLength) }, (_, index) => ({
    ...event,
    text: index === 0 ? event.text : "",
    logprobs: logprobs.slice(index * sliceLength, (index + 1) * sliceLength),
  }));
}

/** No more bytes than these are held back until an answer's first content. */
const maxHeldBytes = 64 * 1024;

/** Whether the event is content. A finish reason counts, since an answer may be empty. */
function isContent(event: CanonicalEvent): boolean {
  switch (event.type) {
    case "start":
    case "usage":
    case "own":
    case "error":
      return false;
    case "block-start":
      return !["text", "reasoning", "refusal"].includes(event.content.kind);
    case "block-delta":
      return event.text !== "";
    case "block-end":
      return event.opaque !== undefined;
    default:
      return true;
  }
}

/** Usage may follow the end, and some vendors send the end twice. */
function mayFollowEnd({ events, terminal }: DecodedEvent): boolean {
  return terminal || (events.length > 0 && events.every(({ type }) => type === "usage"));
}

/** In fewer bytes no run of events is looked for: it would save too little. */
const shortBytes = 1024;

/** Where the event with this number ends; the end of the bytes if it isn't found. */
function endOfEvents(bytes: Uint8Array, events: number): number {
  let end = 0;
  for (let found = 0; found < events; end++) {
    end = bytes.indexOf(lineFeed, end);
    if (end < 0) return bytes.length;
    if (bytes[end + 1] === lineFeed) {
      found++;
      end++;
    }
  }
  return end;
}

const lineFeed = 10;

/** The data of an event like those before it is not even decoded. */
function checkEvent(event: SseEvent): void {
  if (event.bytes.length <= countedUnits) return;
  const excess = event.data === undefined ? undefined : eventExcess(event.data);
  if (excess) throw excess;
}

/**
 * Collects the caller's output for the events of one piece, and joins as much of it as possible.
 */
class Run {
  readonly #output: StreamOutput;
  #sent: Uint8Array | string = "";

  constructor(output: StreamOutput) {
    this.#output = output;
  }

  add(sent: Uint8Array | string): void {
    const before = this.#sent;
    if (typeof before === "string" && typeof sent === "string") {
      this.#sent = before + sent;
      return;
    }
    const joined = typeof before === "string" || typeof sent === "string"
      ? undefined
      : adjacent(before, sent);
    if (joined === undefined) this.send();
    this.#sent = joined ?? sent;
  }

  send(): void {
    const sent = this.#sent;
    this.#sent = "";
    if (sent.length > 0) this.#output.send(encoded(sent));
  }
}

/**
 * Encodes by way of a Buffer, which takes a third of the time. Returns a plain Uint8Array, since
 * the `slice` of a Buffer is not a copy.
 */
function encoded(sent: Uint8Array | string): Uint8Array {
  if (typeof sent !== "string") return sent;
  const { buffer, byteOffset, length } = Buffer.from(sent);
  return new Uint8Array(buffer, byteOffset, length);
}

/** Both views as one, where the second begins at the end of the first. */
function adjacent(first: Uint8Array, second: Uint8Array): Uint8Array | undefined {
  if (first.buffer !== second.buffer || first.byteOffset + first.length !== second.byteOffset) {
    return undefined;
  }
  return new Uint8Array(first.buffer, first.byteOffset, first.length + second.length);
}
