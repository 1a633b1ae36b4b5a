import { joinBytes } from "../base/bytes.ts";
import { runAtOnce } from "../base/heavy_work.ts";
import { JsonCount } from "../base/json_count.ts";
import type { CanonicalEvent } from "../dialects/kernel/canonical.ts";
import { Fault } from "../shared/fault.ts";
import type { UpstreamAnswer, UpstreamBody } from "../vendors/upstream.ts";
import { answerHeaders, vendorRequestId } from "../vendors/vendor_headers.ts";
import { lossHeader } from "./loss_header.ts";
import type { CallAnswer, StreamAnswer, WholeAnswer } from "./pipeline.ts";
import { TextStreamListener } from "./text_stream.ts";
import { meterUnread } from "./unread_answer.ts";
import { callVendor, type TextExchange, type VendorCallDeps } from "./vendor_call.ts";

/** A larger whole answer is refused. */
const maxAnswerBytes = 64 * 1024 * 1024;
/** Larger ones are worked on in turns. */
const heavyBytes = 1024 * 1024;

/** Asks the vendor, and turns its answer into the caller's: whole, or as a stream yet to be read. */
export async function executeText(
  deps: VendorCallDeps,
  exchange: TextExchange,
): Promise<CallAnswer> {
  const answer = await callVendor(deps, exchange);
  try {
    const type = answer.headers["content-type"] ?? "";
    // A vendor that answers a stream request with JSON answers with an error, or streams nothing.
    if (exchange.facts.stream && !/\bjson\b/i.test(type)) return streamAnswer(exchange, answer);
    return await wholeAnswer(exchange, answer);
  } catch (thrown) {
    if (thrown instanceof Fault) thrown.vendorRequestId ??= vendorRequestId(answer.headers);
    throw thrown;
  }
}

/** How far a whole answer has come, for when the caller can't be given it. */
interface Arriving {
  pieces: Uint8Array[];
  /** The meter knows what it came to. */
  isMetered: boolean;
}

async function wholeAnswer(exchange: TextExchange, answer: UpstreamAnswer): Promise<WholeAnswer> {
  const arriving: Arriving = { pieces: [], isMetered: false };
  try {
    return await readAnswer(exchange, answer, arriving);
  } catch (thrown) {
    const { upstream: dialect, quirks } = exchange.plan;
    // It is charged for, though nobody can be given it.
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
    // An error under a good status: what stands beside it was made all the same.
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

/** The pieces are there also where the rest never comes. */
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
  const { vendorCall, plan, call, facts } = exchange;
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
      }),
    };
  } catch (thrown) {
    answer.body.destroy();
    throw thrown;
  }
}

/** Some servers label their events as text, or not at all: clients then read none. */
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

/** An answer with more of anything is refused with `upstream_invalid_response`. */
const answerLimits = { values: 2_000_000, depth: 128, members: 100_000, names: 100_000 } as const;
/** Shorter answers can't hold too much. */
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
