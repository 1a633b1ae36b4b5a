import { Buffer } from "node:buffer";
import { joinBytes } from "../base/bytes.ts";
import { runAtOnce } from "../base/heavy_work.ts";
import { JsonCount } from "../base/json_count.ts";
import type { CanonicalEvent } from "../dialects/kernel/canonical.ts";
import { Fault } from "../shared/fault.ts";
import type { UpstreamAnswer, UpstreamBody } from "../vendors/upstream.ts";
import { answerHeaders, vendorRequestId } from "../vendors/vendor_headers.ts";
import { lossHeader } from "./reply.ts";
import type { CallAnswer, StreamAnswer, WholeAnswer } from "./pipeline.ts";
import {
  callVendor,
  type TextExchange,
  type VendorCallContext,
  type VendorCallDeps,
} from "./vendor_call.ts";
import { type SseEvent, SseSplitter } from "../base/sse.ts";
import type {
  DecodedEvent,
  Dialect,
  DialectQuirks,
  StreamDecoder,
} from "../dialects/kernel/dialect.ts";
import type { Meter } from "./meter.ts";
import type { Forwarded, StreamPlan } from "./plan/text_plan.ts";
import type { StreamListener, StreamOutput, StreamRecord } from "./stream_forwarder.ts";
import { membersAt } from "../base/json_text.ts";
import { mendJson } from "../base/mend_json.ts";
import { isRecord } from "../dialects/kernel/json.ts";
import type { Usage } from "../shared/usage.ts";
import { readRawUsage } from "../repricing/stored_usage.ts";

/** A larger whole answer is refused. */
const maxAnswerBytes = 64 * 1024 * 1024;
/** Larger answers are processed in turns with other calls. */
const heavyBytes = 1024 * 1024;

/**
 * Asks the vendor and turns its answer into the caller's: whole, or a stream that is yet to be
 * read.
 */
export async function executeText(
  deps: VendorCallDeps,
  exchange: TextExchange,
): Promise<CallAnswer> {
  const answer = await callVendor(deps, exchange);
  try {
    const type = answer.headers["content-type"] ?? "";
    // A vendor that answers a stream request with JSON sends an error, or can't stream.
    if (exchange.facts.stream && !/\bjson\b/i.test(type)) return streamAnswer(exchange, answer);
    return await wholeAnswer(exchange, answer);
  } catch (thrown) {
    if (thrown instanceof Fault) thrown.vendorRequestId ??= vendorRequestId(answer.headers);
    throw thrown;
  }
}

/** How much of a whole answer has come, in case it can't be given to the caller. */
interface Arriving {
  pieces: Uint8Array[];
  /** The meter has its events. */
  isMetered: boolean;
}

async function wholeAnswer(exchange: TextExchange, answer: UpstreamAnswer): Promise<WholeAnswer> {
  const arriving: Arriving = { pieces: [], isMetered: false };
  try {
    return await readAnswer(exchange, answer, arriving);
  } catch (thrown) {
    const { upstream: dialect, quirks } = exchange.plan;
    // The vendor charges for it even if the caller can't get it.
    if (!arriving.isMetered) {
      meterUnread(exchange.call.meter, textOf(arriving), { dialect, quirks });
    }
    throw thrown;
  }
}

async function readAnswer(
  exchange: TextExchange,
  answer: UpstreamAnswer,
  arriving: Arriving,
): Promise<WholeAnswer> {
  const { vendorCall, plan, call } = exchange;
  await readPieces(answer.body, arriving.pieces);
  const bytes = joinBytes(arriving.pieces);
  arriving.pieces = [bytes];
  call.answered();
  const { heavyStep } = vendorCall.caller;
  const step = (bytes.length > heavyBytes ? heavyStep : undefined) ?? runAtOnce;
  const text = await step(() => new TextDecoder().decode(bytes));
  const json = await step(() => parseAnswer(text));
  const events = await step(() => plan.upstream.decodeAnswer(json, plan.quirks));
  const meter = (events: readonly CanonicalEvent[]) => {
    arriving.isMetered = true;
    call.meter.listen(events);
  };
  const failure = events.find((event) => event.type === "error");
  if (failure) {
    // An error under a good status: anything else in the answer was still produced.
    meter(events);
    throw vendorCall.fault(failure.error);
  }
  const contentType = answer.headers["content-type"];
  const whole = await step(() => plan.whole({ bytes, text, contentType, events })).catch(
    (thrown) => {
      meter(events);
      throw thrown;
    },
  );
  meter(whole.events);
  return {
    status: answer.status,
    headers: headersOf(exchange, answer, whole.contentType),
    body: whole.body,
    recordText: whole.text,
  };
}

/** Fills `pieces` as they come, so that they are there even if the rest never comes. */
function readPieces(body: UpstreamBody, pieces: Uint8Array[]): Promise<void> {
  let length = 0;
  return new Promise((resolve, reject) =>
    body.onData({
      data(piece) {
        length += piece.length;
        pieces.push(piece);
        if (length <= maxAnswerBytes) return;
        const note = `The vendor's answer is larger than ${maxAnswerBytes} bytes`;
        throw new Fault("upstream_invalid_response", { note });
      },
      end: resolve,
      error: reject,
    })
  );
}

function textOf({ pieces }: Arriving): string {
  try {
    return new TextDecoder().decode(joinBytes(pieces));
  } catch {
    return "";
  }
}

function streamAnswer(exchange: TextExchange, answer: UpstreamAnswer): StreamAnswer {
  const { vendorCall, plan, call, facts, isLast } = exchange;
  try {
    const stream = plan.stream();
    return {
      status: answer.status,
      headers: headersOf(exchange, answer, stream.contentType ?? eventStreamType(answer)),
      body: answer.body,
      listener: new TextStreamListener({
        vendorCall,
        meter: call.meter,
        plan: stream,
        decoder: plan.upstream.createStreamDecoder(plan.quirks, facts.choices),
        awaitsContent: !isLast,
      }),
    };
  } catch (thrown) {
    answer.body.destroy();
    throw thrown;
  }
}

/** Some servers send events as text or without a type; clients would not read those. */
function eventStreamType({ headers }: UpstreamAnswer): string {
  const type = headers["content-type"] ?? "";
  return /^text\/event-stream\b/i.test(type) ? type : "text/event-stream";
}

function headersOf(
  { plan: { losses } }: TextExchange,
  answer: UpstreamAnswer,
  contentType: string | undefined,
): Record<string, string> {
  return {
    ...answerHeaders(answer.headers),
    ...(contentType === undefined ? {} : { "content-type": contentType }),
    ...(losses.length > 0 ? { "x-translation-loss": lossHeader(losses) } : {}),
  };
}

/** An answer beyond these limits is refused with `upstream_invalid_response`. */
const answerLimits = { values: 2_000_000, depth: 128, members: 100_000, names: 100_000 } as const;
/** Shorter answers can't exceed the limits. */
const countedUnits = 2048;

/** A vendor's JSON; throws `upstream_invalid_response`. */
export function parseAnswer(text: string): unknown {
  const excess = text.length > countedUnits ? new JsonCount(answerLimits).add(text) : undefined;
  if (excess !== undefined) {
    throw new Fault("upstream_invalid_response", {
      note: `an answer with more than ${answerLimits[excess]} ${excess}`,
    });
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Fault("upstream_invalid_response", {
      note: "a good status with a body that is not JSON",
    });
  }
}

/** An event larger than this ends the stream: images in events are a few MiB at most. */
const maxEventBytes = 32 * 1024 * 1024;

/**
 * Decodes a vendor's stream event by event and forwards each as the call's plan says, while the
 * meter listens.
 */
class TextStreamListener implements StreamListener {
  readonly #vendorCall: VendorCallContext;
  readonly #meter: Meter;
  readonly #plan: StreamPlan;
  readonly #decoder: StreamDecoder;
  readonly #splitter = new SseSplitter({ maxEventBytes });
  /** The answer begins with its first content, not with its first event. */
  #awaitsContent: boolean;
  #isTerminated = false;
  #isDecoded = false;
  /** Bytes of events that came before the content. */
  #heldBytes = 0;

  constructor(
    { vendorCall, meter, plan, decoder, awaitsContent }: {
      vendorCall: VendorCallContext;
      meter: Meter;
      plan: StreamPlan;
      decoder: StreamDecoder;
      /** Another vendor could be asked as long as the answer has no content. */
      awaitsContent: boolean;
    },
  ) {
    this.#awaitsContent = awaitsContent;
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
    const isEmpty = this.#awaitsContent && !output.hasBegun && !rest.events.some(isContent);
    if (rest.complete && !isEmpty) {
      const { sent } = this.#forward(rest.events, () => this.#plan.end(rest.events));
      return sent === undefined ? undefined : bytesOf(sent);
    }
    this.#meter.listen(rest.events);
    if (output.hasBegun || this.#heldBytes > 0) throw new Fault("upstream_stream_truncated");
    // No event at all: an empty body, or not an event stream.
    throw new Fault("upstream_invalid_response", { note: "a stream without an event" });
  }

  cut(): void {
    this.#meter.listen(this.#endDecoding().events);
  }

  fail(fault: Fault): Uint8Array {
    return this.#plan.fail(fault);
  }

  settle(isComplete: boolean): StreamRecord {
    // A caller that leaves after the last event has the whole answer.
    if (isComplete && !this.#isDecoded) this.#meter.listen(this.#endDecoding().events);
    return {};
  }

  /** The events of one piece are sent as one, with those before an event that fails. */
  #takeEvents(events: readonly SseEvent[], output: StreamOutput): void {
    const run = new Run(output);
    try {
      for (const event of events) this.#takeEvent(event, run, output);
    } finally {
      run.send();
    }
  }

  #takeEvent(event: SseEvent, run: Run, output: StreamOutput): void {
    const decoded = this.#decoder.decode(event);
    // After the last event only usage belongs to this answer.
    if (this.#isTerminated && !isAfterword(decoded)) return;
    const failure = decoded.events.find((one) => one.type === "error");
    if (failure) {
      // What came with the error was produced, and is billed.
      this.#meter.listen(decoded.events);
      throw this.#vendorCall.fault(failure.error);
    }
    const { sent } = this.#forward(decoded.events, () => this.#plan.forward(event, decoded));
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

  #mayBegin(events: readonly CanonicalEvent[], sent: Forwarded["sent"]): boolean {
    if (!this.#awaitsContent) return true;
    this.#heldBytes += sent?.length ?? 0;
    if (!events.some(isContent) && this.#heldBytes <= maxHeldBytes) return false;
    this.#awaitsContent = false;
    return true;
  }

  /** The meter gets the caller's events, or the vendor's where the caller's can't be made. */
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

/** More is not held back in wait of an answer's first content. */
const maxHeldBytes = 64 * 1024;

/** Whether the event belongs to the answer itself. An answer that has a reason to end may be empty. */
function isContent(event: CanonicalEvent): boolean {
  switch (event.type) {
    case "start":
    case "usage":
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
function isAfterword({ events, terminal }: DecodedEvent): boolean {
  return terminal || (events.length > 0 && events.every(({ type }) => type === "usage"));
}

/**
 * A last event may lack its blank line; half an event means a cut stream, not an invalid answer.
 */
function isWhole({ terminated, data }: SseEvent): boolean {
  if (terminated || data === undefined || data.trim() === "[DONE]") return true;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}

/** What the caller gets of the events of one piece, put together as far as it can be. */
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
    if (sent.length > 0) this.#output.send(bytesOf(sent));
  }
}

/** By way of a Buffer, which takes a third of the time; a plain view, since its slices are copies. */
function bytesOf(sent: Uint8Array | string): Uint8Array {
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

/** Longer texts are not parsed again: only their usage is looked for, and the rest counted. */
const mostRead = 1024 * 1024;

/**
 * Meters a whole answer that can't be given to the caller: cut, malformed or too large. The
 * vendor's reported usage counts, else the text that can be read; a text that is not an answer
 * costs nothing. Never throws.
 */
function meterUnread(
  meter: Meter,
  text: string,
  { dialect, quirks }: { dialect: Dialect; quirks: DialectQuirks },
): void {
  // A proxy's error page costs nothing.
  if (!/^\s{0,64}[{[]/.test(text)) return;
  const read = (raw: unknown) => attempt(() => readRawUsage(dialect.name, raw, quirks));
  const field = dialect.usageMember;
  if (text.length > mostRead) return meter.unread(read(lastObject(text, field)), text.length);
  let reported: Usage | undefined;
  let content: CanonicalEvent[] = [];
  attempt(() => {
    for (const value of mendJson(text)) {
      reported ??= isRecord(value) ? read(value[field]) : undefined;
      const events = attempt(() => dialect.decodeAnswer(value, quirks)) ?? [];
      content = events.filter(({ type }) => type !== "error" && type !== "finish");
      if (content.some(({ type }) => type === "block-start")) break;
    }
  });
  meter.listen(content);
  meter.unread(reported, 0);
}

/** The last object after this name as a key; inside a string the quotes would be escaped. */
function lastObject(text: string, name: string): unknown {
  const token = `"${name}"`;
  const at = text.lastIndexOf(token);
  const start = at < 0 ? -1 : text.indexOf("{", at + token.length);
  if (start < 0 || !/^\s*:\s*$/.test(text.slice(at + token.length, start).slice(0, 64))) return;
  return attempt(() => {
    const { range } = membersAt(text, start)!;
    return JSON.parse(text.slice(range.start, range.end)) as unknown;
  });
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
