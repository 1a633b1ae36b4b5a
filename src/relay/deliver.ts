import { errors } from "../../contracts/kernel/errors.ts";
import { joinBytes } from "../base/bytes.ts";
import { runAtOnce } from "../base/heavy_work.ts";
import { JsonCount } from "../base/json_count.ts";
import type { Clock } from "../base/clock.ts";
import type { CanonicalEvent } from "../dialects/kernel/canonical.ts";
import { Fault } from "../shared/fault.ts";
import { isAbort, type UpstreamAnswer, type UpstreamBody } from "../vendors/upstream.ts";
import { answerHeaders, vendorRequestId } from "../vendors/vendor_headers.ts";
import type { Ending } from "./call_facts.ts";
import { lossHeader } from "./loss_header.ts";
import type { Reply } from "./reply.ts";
import { forwardStream, StreamFailure } from "./stream_forwarder.ts";
import { meterUnread } from "./unread_answer.ts";
import type { VendorCallRequest } from "./vendor_call.ts";
import { vendorFault } from "./vendor_fault.ts";

/** A whole answer that is larger than this is none. */
const maxAnswerBytes = 64 * 1024 * 1024;
/** Larger ones are worked on in turns. */
const heavyBytes = 1024 * 1024;

/**
 * Asks the vendor through `ask` and turns its answer into the caller's, whole or as a stream.
 * However that ends, the call is settled exactly once.
 */
export async function deliver(
  clock: Clock,
  vendorRequest: VendorCallRequest,
  ask: () => Promise<UpstreamAnswer>,
): Promise<Reply> {
  let ending: Ending | undefined;
  let vendorId: string | undefined;
  try {
    const answer = await ask();
    vendorId = vendorRequestId(answer.headers);
    const type = answer.headers["content-type"] ?? "";
    // A vendor that answers a stream request with JSON has something else to say.
    if (vendorRequest.facts.stream && !/\bjson\b/i.test(type)) {
      return await streamReply(clock, vendorRequest, answer);
    }
    const whole = await wholeReply(vendorRequest, answer);
    ending = whole.ending;
    return whole.reply;
  } catch (thrown) {
    ending = endingOf(thrown, vendorRequest.caller.signal.aborted);
    // Nobody is there to read it; the status is for the log.
    if (ending.status === "cancelled") return { status: 499, headers: {}, body: null };
    const failure = thrown instanceof StreamFailure ? thrown.fault : thrown;
    if (failure instanceof Fault) failure.vendorRequestId ??= vendorId;
    throw failure;
  } finally {
    // A stream that was handed over settles itself when it ends.
    if (ending) await vendorRequest.call.settle(ending);
  }
}

/** What has come of a whole answer, for when it can't be given to its caller. */
interface Arriving {
  pieces: Uint8Array[];
  /** The meter knows what it came to. */
  isHeard: boolean;
}

async function wholeReply(
  vendorRequest: VendorCallRequest,
  answer: UpstreamAnswer,
): Promise<{ reply: Reply; ending: Ending }> {
  const arriving: Arriving = { pieces: [], isHeard: false };
  try {
    return await readReply(vendorRequest, answer, arriving);
  } catch (thrown) {
    const { upstream: dialect, quirks } = vendorRequest.plan;
    // What it cost is to be known, though nobody can be given it.
    if (!arriving.isHeard) {
      meterUnread(vendorRequest.call.meter, textOf(arriving), { dialect, quirks });
    }
    throw thrown;
  }
}

async function readReply(
  vendorRequest: VendorCallRequest,
  answer: UpstreamAnswer,
  arriving: Arriving,
): Promise<{ reply: Reply; ending: Ending }> {
  await readPieces(answer.body, arriving.pieces);
  const bytes = joinBytes(arriving.pieces);
  arriving.pieces = [bytes];
  vendorRequest.call.answered();
  const { heavyStep } = vendorRequest.caller;
  const step = (bytes.length > heavyBytes ? heavyStep : undefined) ?? runAtOnce;
  const text = await step(() => new TextDecoder().decode(bytes));
  const json = await step(() => parseAnswer(text));
  const events = await step(() =>
    vendorRequest.plan.upstream.decodeAnswer(json, vendorRequest.plan.quirks)
  );
  const failure = events.find((event) => event.type === "error");
  if (failure) {
    // Told in a good status: what stands beside it was made all the same.
    hear(vendorRequest, arriving, events);
    throw vendorFault(failure.error, {
      mode: vendorRequest.mode,
      address: vendorRequest.target.vendor.baseUrl,
      key: vendorRequest.key,
    });
  }
  const contentType = answer.headers["content-type"];
  const whole = await step(() => vendorRequest.plan.whole({ bytes, text, contentType, events }))
    .catch(
      (thrown) => {
        hear(vendorRequest, arriving, events);
        throw thrown;
      },
    );
  hear(vendorRequest, arriving, whole.events);
  const left = vendorRequest.caller.signal.aborted;
  return {
    reply: {
      status: answer.status,
      headers: headersOf(vendorRequest, answer, whole.contentType),
      body: whole.body,
    },
    ending: {
      status: left ? "cancelled" : "completed",
      httpStatus: left ? null : answer.status,
      responseText: whole.text,
    },
  };
}

function hear(
  vendorRequest: VendorCallRequest,
  arriving: Arriving,
  events: readonly CanonicalEvent[],
): void {
  arriving.isHeard = true;
  vendorRequest.call.meter.listen(events);
}

/** The pieces stand there also where the rest never comes. */
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

async function streamReply(
  clock: Clock,
  vendorRequest: VendorCallRequest,
  answer: UpstreamAnswer,
): Promise<Reply> {
  try {
    const streamPlan = vendorRequest.plan.stream();
    // Before anything is handed over: what throws here still ends the call.
    const headers = {
      ...headersOf(vendorRequest, answer, streamPlan.contentType ?? eventStreamType(answer)),
      "cache-control": "no-store",
      // Keeps a proxy in front of us from gathering the events.
      "x-accel-buffering": "no",
    };
    const stream = await forwardStream({
      call: vendorRequest.call,
      streamPlan,
      decoder: vendorRequest.plan.upstream.createStreamDecoder(
        vendorRequest.plan.quirks,
        vendorRequest.facts.choices,
      ),
      body: answer.body,
      mode: vendorRequest.mode,
      address: vendorRequest.target.vendor.baseUrl,
      key: vendorRequest.key,
      onDisconnect: vendorRequest.caller.principal.key.onDisconnect,
      goesOn: vendorRequest.caller.goesOn,
      httpStatus: answer.status,
      nowMs: () => clock.monotonicMs(),
    });
    return { status: answer.status, headers, body: stream };
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
  vendorRequest: VendorCallRequest,
  answer: UpstreamAnswer,
  contentType: string | undefined,
): Record<string, string> {
  const { losses } = vendorRequest.plan;
  return {
    ...answerHeaders(answer.headers),
    ...(contentType === undefined ? {} : { "content-type": contentType }),
    ...(losses.length > 0 ? { "x-translation-loss": lossHeader(losses) } : {}),
  };
}

/** More than this is no answer; `upstream_invalid_response` says so. */
const answerLimits = { values: 2_000_000, depth: 128, members: 100_000, names: 100_000 } as const;
/** Shorter answers can't hold too much. */
const countedUnits = 2048;

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
      note: "a good status with a body that is no JSON",
    });
  }
}

/** How a call that threw ended. */
export function endingOf(thrown: unknown, callerLeft: boolean): Ending {
  if (isAbort(thrown) || callerLeft) return { status: "cancelled", httpStatus: null };
  const failure = thrown instanceof StreamFailure ? thrown : undefined;
  const fault = failure?.fault ?? thrown;
  const code = fault instanceof Fault ? fault.code : "internal_error";
  const truncated = failure?.status === "truncated" || code === "upstream_stream_truncated";
  return {
    status: truncated ? "truncated" : "failed",
    httpStatus: errors[code].status,
    errorCode: code,
    ...(fault instanceof Fault ? { fault } : {}),
  };
}
