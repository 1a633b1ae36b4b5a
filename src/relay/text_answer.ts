import type { ByteGate } from "../base/byte_gate.ts";
import { utf8Steps, utf8Text } from "../base/bytes.ts";
import { withExactIntegers } from "../base/exact_integers.ts";
import { parseExactly } from "../base/exact_json.ts";
import { heavyUnits } from "../base/heavy_json.ts";
import { runAtOnce, type Step } from "../base/heavy_work.ts";
import { JsonTextError } from "../base/parse_in_steps.ts";
import type { Steps } from "../base/steps.ts";
import type { CanonicalEvent } from "../dialects/kernel/canonical.ts";
import { eventSlices } from "../dialects/kernel/fold.ts";
import { Fault } from "../shared/fault.ts";
import { wordsAndMedia } from "../shared/media_estimate.ts";
import type { UpstreamAnswer } from "../vendors/upstream.ts";
import { answerHeaders, vendorRequestId } from "../vendors/vendor_headers.ts";
import { AnswerRoom } from "./answer_room.ts";
import { checkAnswerLimits, eventExcess, isHeavyText, parseWithinLimits } from "./answer_limits.ts";
import { type CallContext, stepFor } from "./call_context.ts";
import { lossHeader } from "./reply.ts";
import type { CallAnswer, StreamAnswer, WholeAnswer } from "./pipeline.ts";
import type { TextPlan } from "./plan/text_plan.ts";
import { callVendor, type TextExchange, type VendorCallDeps } from "./text_exchange.ts";
import type { Dialect, DialectQuirks } from "../dialects/kernel/dialect.ts";
import type { Meter } from "./meter.ts";
import { TextStreamListener } from "./text_stream.ts";
import { lastObject, maxTries, triedCompletions, wholeMembersSteps } from "../base/mend_json.ts";
import { AnswerExcess } from "../dialects/kernel/choices.ts";
import { isRecord } from "../dialects/kernel/json.ts";
import { readRawUsage } from "../repricing/stored_usage.ts";

/** A larger whole answer is refused. */
const maxAnswerBytes = 64 * 1024 * 1024;

/**
 * Asks the vendor and turns its answer into the caller's: whole, or a stream that is yet to be
 * read.
 */
export async function executeText(
  deps: VendorCallDeps & { answers: ByteGate },
  exchange: TextExchange,
): Promise<CallAnswer> {
  const answer = await callVendor(deps, exchange);
  try {
    const type = answer.headers["content-type"] ?? "";
    // A vendor that answers a stream request with JSON sends an error, or can't stream.
    if (exchange.facts.stream && !jsonLabel.test(type)) return streamAnswer(exchange, answer);
    const { caller } = exchange.vendorCall;
    return await wholeAnswer(
      exchange,
      answer,
      new AnswerRoom(deps.answers, caller, maxAnswerBytes),
    );
  } catch (thrown) {
    if (thrown instanceof Fault) thrown.vendorRequestId ??= vendorRequestId(answer.headers);
    throw thrown;
  }
}

/** How much of a whole answer has come, in case it can't be given to the caller. */
interface Arriving {
  bytes?: Uint8Array;
  /** The meter has the answer's events. */
  isMetered: boolean;
}

async function wholeAnswer(
  exchange: TextExchange,
  answer: UpstreamAnswer,
  room: AnswerRoom,
): Promise<WholeAnswer> {
  const arriving: Arriving = { isMetered: false };
  try {
    const whole = await readAnswer(exchange, answer, arriving, room);
    // Whoever reads what a stream was requested for tells by the body's form whether it is one.
    return exchange.facts.stream
      ? whole
      : { ...whole, ...room.handOver(whole.body, whole.headers) };
  } catch (thrown) {
    const { upstream: dialect, quirks } = exchange.plan;
    // The vendor charges for it even if the caller can't get it.
    if (!arriving.isMetered) {
      const { bytes = new Uint8Array() } = arriving;
      // Each way to complete it parses it once.
      const step = stepFor(maxTries * bytes.length, exchange.vendorCall.caller);
      const metering = meterUnread(exchange.call.meter, bytes, { dialect, quirks });
      await step.inSteps(() => metering);
    }
    throw thrown;
  } finally {
    room.leave();
  }
}

async function readAnswer(
  exchange: TextExchange,
  answer: UpstreamAnswer,
  arriving: Arriving,
  room: AnswerRoom,
): Promise<WholeAnswer & { body: string | Uint8Array }> {
  const { vendorCall, plan, call } = exchange;
  const bytes = await room.read(answer, (came) => arriving.bytes = came);
  arriving.bytes = bytes;
  call.answered();
  const { caller } = vendorCall;
  const text = await stepFor(bytes.length, caller).inSteps(() => utf8Steps(bytes));
  const step = stepForText(text, caller);
  const json = await step.inSteps(() => parseAnswerInSteps(text, step));
  const events = await step.inSteps(() =>
    plan.upstream.decodeAnswer(exactly(plan, text, json), plan.quirks)
  );
  const meter = (events: readonly CanonicalEvent[]) => {
    arriving.isMetered = true;
    return step.inSteps(() => listening(call.meter, events));
  };
  const failure = events.find((event) => event.type === "error");
  if (failure) {
    // An error under a good status: anything else in the answer was still produced.
    await meter(events);
    throw vendorCall.fault(failure.error);
  }
  const contentType = answer.headers["content-type"];
  const whole = await step.inSteps(() => plan.whole({ bytes, text, contentType, events })).catch(
    async (thrown) => {
      await meter(events);
      throw thrown;
    },
  );
  await meter(whole.events);
  return {
    status: answer.status,
    headers: headersOf(exchange, answer, whole.contentType ?? jsonType(answer)),
    body: whole.body,
    recordText: whole.text,
  };
}

/** The answer with the digits of its calls' arguments, which a caller of another dialect needs. */
function exactly({ sameDialect, upstream }: TextPlan, text: string, json: unknown): unknown {
  const isRead = !sameDialect && upstream.callMembers !== undefined;
  return isRead ? withExactIntegers(text, json, upstream.callMembers) : json;
}

function* listening(meter: Meter, events: readonly CanonicalEvent[]): Steps<void> {
  for (const slice of eventSlices(events)) {
    meter.listen(slice);
    yield;
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
        heavyStep: vendorCall.caller.heavyStep,
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

/** The same for JSON. A client returns what isn't labelled as that as a string. */
function jsonType({ headers }: UpstreamAnswer): string {
  const type = headers["content-type"] ?? "";
  return jsonLabel.test(type) ? type : "application/json";
}

const jsonLabel = /\bjson\b/i;

function headersOf(
  { plan: { losses, renamed } }: TextExchange,
  answer: UpstreamAnswer,
  contentType: string,
): Record<string, string> {
  const headers = answerHeaders(answer.headers);
  headers["content-type"] = contentType;
  if (losses.length > 0) headers["x-translation-loss"] = lossHeader(losses);
  if (renamed !== undefined) headers["x-renamed-fields"] = renamed;
  return headers;
}

/** Shorter answers can't exceed the limits. */
const countedUnits = 2048;

/** Parses a vendor's JSON. Throws `upstream_invalid_response`. */
export function parseAnswer(text: string): unknown {
  if (text.length > countedUnits) checkAnswerLimits(text);
  try {
    return parseExactly(text);
  } catch {
    throw notJson();
  }
}

/** The same, a large text in turns with other calls. */
export async function parseAnswerInTurns(
  text: string,
  caller: Pick<CallContext, "heavyStep">,
): Promise<unknown> {
  const step = stepForText(text, caller);
  return await step.inSteps(() => parseAnswerInSteps(text, step));
}

/** Returns the step for work on an answer: in turns where its text is long or holds many values. */
function stepForText(text: string, { heavyStep }: Pick<CallContext, "heavyStep">): Step {
  return (isHeavyText(text) ? heavyStep?.() : undefined) ?? runAtOnce;
}

/** The same in steps where the text is heavy. */
function* parseAnswerInSteps(text: string, { isHeavy }: Pick<Step, "isHeavy">): Steps<unknown> {
  if (!isHeavy && text.length <= heavyUnits) return parseAnswer(text);
  try {
    return yield* parseWithinLimits(text);
  } catch (thrown) {
    throw thrown instanceof JsonTextError ? notJson() : thrown;
  }
}

function notJson(): Fault {
  return new Fault("upstream_invalid_response", {
    note: "a good status with a body that is not JSON",
  });
}

const beginsAnswer = /^\s{0,64}[{[]/;

/** Events that a mended answer can't be believed in. */
const unmendedEvents: ReadonlySet<CanonicalEvent["type"]> = new Set(["error", "finish", "usage"]);

/**
 * In a longer text, or one that holds too much, only the usage is parsed; its characters and media
 * are counted.
 */
const maxRead = 1024 * 1024;

/**
 * Meters, in steps, a whole answer that can't be given to the caller: cut, malformed or too large.
 * The vendor's reported usage counts, else the text that can be read; a text that is not an answer
 * costs nothing. Never throws.
 */
function* meterUnread(
  meter: Meter,
  bytes: Uint8Array,
  { dialect, quirks }: { dialect: Dialect; quirks: DialectQuirks },
): Steps<void> {
  // A proxy's error page costs nothing.
  if (!beginsAnswer.test(utf8Text(bytes.subarray(0, 256)))) return;
  const text = yield* utf8Steps(bytes);
  const read = (raw: unknown) => attempt(() => readRawUsage(dialect.name, raw, quirks));
  const field = dialect.usageMember;
  if (text.length > maxRead || eventExcess(text)) {
    const { chars, pieces } = yield* wordsAndMedia(text);
    return meter.unread(read(yield* lastObject(text, field)), chars, pieces);
  }
  // A usage in which the text breaks off lacks counts, or their last digits.
  const whole = yield* wholeMembersSteps(text);
  const reported = isRecord(whole) ? read(whole[field]) : undefined;
  yield;
  let content: CanonicalEvent[] = [];
  for (const mended of triedCompletions(text)) {
    yield;
    if (!mended) continue;
    const events = yield* decoded(() => dialect.decodeAnswer(mended.value, quirks));
    if (events === undefined) {
      const { chars, pieces } = yield* wordsAndMedia(text);
      return meter.unread(reported, chars, pieces);
    }
    content = events.filter(({ type }) => !unmendedEvents.has(type));
    if (content.some(({ type }) => type === "block-start")) break;
  }
  yield* listening(meter, content);
  meter.unread(reported, 0);
}

/** Returns no events of what is no answer; undefined where it holds more than is read. */
function* decoded(
  decode: () => Steps<CanonicalEvent[]>,
): Steps<CanonicalEvent[] | undefined> {
  try {
    return yield* decode();
  } catch (thrown) {
    return thrown instanceof AnswerExcess ? undefined : [];
  }
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
