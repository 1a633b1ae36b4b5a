import { Buffer } from "node:buffer";
import { AnswerBytes, bytesOf, maxStoredBytes, streamOf } from "../base/answer_bytes.ts";
import type { CopyRoom } from "../base/copy_room.ts";
import type { ReadAhead } from "../base/read_ahead.ts";
import { tapStream } from "../base/stream_tap.ts";
import type { CachedAnswer, StoredCachedAnswer } from "../response_cache/cached_answer.ts";
import { cacheTtlOf } from "../response_cache/cache_ttl.ts";
import type { CacheFill, ResponseCache } from "../response_cache/response_cache.ts";
import type { SettledCall } from "../shared/interaction.ts";
import { type CacheUse, Call, type Candidate, nothingHeld } from "./call.ts";
import type { CallDeps } from "./call_deps.ts";
import { type CallContext, goesOnAlone } from "./call_context.ts";
import { recordModeOf } from "./record_mode.ts";
import { type CallMeter, nothingBilled } from "./meter.ts";
import type { Candidates } from "./pipeline.ts";
import { callerLeftReply, type Reply, settledHeaders } from "./reply.ts";

/** What a call asks of the response cache. */
export interface CacheRequest {
  ttlSeconds: number;
  /** Undefined where the call's answer can't be reused. */
  key: string | undefined;
}

export interface CachedCallDeps extends CallDeps {
  responseCache: ResponseCache;
  /** Bounds what is read ahead of slow callers. */
  readAhead: ReadAhead;
  /** Bounds the copies of streams. */
  copies: CopyRoom;
}

/**
 * Returns the cache lifetime that a call asks for, in seconds; undefined where the call doesn't use
 * the cache. A call that contains the content of other calls never does, since it is erased with
 * them; nor does a call whose content is not recorded. Throws `invalid_value`.
 */
export function askedTtl(caller: CallContext): number | undefined {
  const recording = recordModeOf(caller);
  const seconds = cacheTtlOf(caller.header("x-cache-ttl"), caller.principal.key.cacheTtlSeconds);
  return caller.sourceCallIds || recording === "metadata" ? undefined : seconds;
}

/**
 * Returns the stored answer of an equal call. Otherwise makes the call with `make` and stores its
 * answer if the call completed with a 2xx status, the answer has at most 16 MiB, and the copy of a
 * stream had room until its end. The caller gets the bytes without waiting for the store.
 */
export async function throughCache<M extends CallMeter>(
  deps: CachedCallDeps,
  candidates: Candidates<Candidate<M>>,
  { key, ttlSeconds }: CacheRequest,
  make: (use: CacheUse) => Promise<Reply>,
): Promise<Reply> {
  if (key === undefined) return withMiss(await make({ result: "miss" }));
  const { caller } = candidates[0].vendorCall;
  const { trace, signal, principal: { account } } = caller;
  trace.onWait?.(1);
  const finding = await deps.responseCache.find({ key, ttlSeconds, accountId: account.id, signal })
    .finally(() => trace.onWait?.(-1));
  trace.onWork?.();
  if (finding.state === "left") return callerLeftReply;
  if (finding.state === "hit") return await replayCached(deps, candidates, finding.answer);
  const filling = new Filling(finding.fill, deps);
  try {
    const reply = await make({
      result: "miss",
      settled: (call, text) => filling.settled(call, text),
    });
    return withMiss(filling.watched(reply, caller));
  } catch (thrown) {
    finding.fill.abandon();
    throw thrown;
  }
}

/** Marks a vendor's answer as a cache miss. Errors don't get the header. */
function withMiss(reply: Reply): Reply {
  return { ...reply, headers: { ...reply.headers, "x-cache": "MISS" } };
}

/** Returns a stored answer, recorded as a new interaction that costs nothing. */
async function replayCached<M extends CallMeter>(
  deps: CachedCallDeps,
  candidates: Candidates<Candidate<M>>,
  answer: StoredCachedAnswer,
): Promise<Reply> {
  const { status, body, streamed, ageSeconds, losses } = answer;
  const { vendorCall, recorded } =
    candidates.find(({ vendorCall: { target: { vendor, model } } }) =>
      vendor.label === answer.vendor && model === answer.model
    ) ?? candidates[0];
  const meter: CallMeter = {
    firstTokenMs: undefined,
    finishReason: answer.finishReason ?? undefined,
    bill: () => nothingBilled,
    counted: () => undefined,
  };
  // The stored response for later turns stays with the call that made the answer.
  const { retain: _, ...request } = recorded;
  const call = await new Call(
    deps,
    { vendorCall, recorded: { ...request, plan: { losses } }, meter, boundNanos: null },
    { authorization: nothingHeld, task: undefined, cache: { result: "hit" } },
  ).begin();
  const responseText = new TextDecoder().decode(answer.record ?? body);
  await call.settle(
    vendorCall.caller.signal.aborted
      ? { status: "cancelled", httpStatus: null, responseText }
      : { status: "completed", httpStatus: status, responseText },
  );
  const cost = streamed ? {} : settledHeaders(vendorCall.caller.trace);
  return {
    status,
    headers: { ...answer.headers, "x-cache": "HIT", age: String(ageSeconds), ...cost },
    body: streamed ? streamOf(body) : body,
  };
}

/** Collects the answer of a call that missed the cache, and stores it. */
class Filling {
  readonly #fill: CacheFill;
  readonly #deps: Pick<CachedCallDeps, "readAhead" | "copies">;
  #call: SettledCall | undefined;
  #recordText: string | undefined;

  constructor(fill: CacheFill, deps: Pick<CachedCallDeps, "readAhead" | "copies">) {
    this.#fill = fill;
    this.#deps = deps;
  }

  settled(call: SettledCall, answerText: string | undefined): void {
    this.#call = call;
    this.#recordText = answerText;
  }

  /** Returns the same reply, and stores its bytes once all of them have come. */
  watched(reply: Reply, { signal, trace, principal: { account } }: CallContext): Reply {
    const { body } = reply;
    if (!(body instanceof ReadableStream)) {
      this.#conclude(reply, false, bytesOf(body));
      return reply;
    }
    const { copies, readAhead } = this.#deps;
    const bytes = new AnswerBytes(reply.hold ? undefined : { copies, accountId: account.id });
    // A large whole answer is sent in pieces too, but has a length.
    const isStreamed = reply.headers["content-length"] === undefined;
    const tapped = tapStream(body, {
      piece: (piece) => bytes.add(piece),
      // The bytes are held in memory anyway, and callers that wait for the whole answer must not
      // wait for this reader.
      aheadBytes: maxStoredBytes,
      ahead: reply.hold ? undefined : readAhead.open(account.id),
      hold: reply.hold,
      readsOn: () => goesOnAlone(trace),
      ended: () => Promise.resolve(this.#conclude(reply, isStreamed, bytes.whole())),
      broken: () => {
        bytes.drop();
        this.#fill.abandon();
      },
    }, signal);
    return { ...reply, body: tapped };
  }

  /** `body` is undefined if it was too large to store, or lost its room. */
  #conclude(
    { status, headers }: Reply,
    streamed: boolean,
    body: Uint8Array | undefined,
  ): void {
    const call = this.#call;
    const text = this.#recordText;
    if (call?.status !== "completed" || text === undefined || status < 200 || status > 299) {
      return this.#fill.abandon();
    }
    const record = body && recordOf(text, body);
    if (!body || (record?.length ?? 0) > maxStoredBytes) return this.#fill.skip();
    const answer: CachedAnswer = {
      ...{ status, body, streamed, headers: answerHeaders(headers) },
      ...(record ? { record } : {}),
      ...{ vendor: call.vendor, model: call.model, finishReason: call.finishReason },
      losses: call.translationLoss,
    };
    this.#fill.store(call, answer);
  }
}

/** The text for records; undefined where the body is that text. */
function recordOf(text: string, body: Uint8Array): Uint8Array | undefined {
  const record = new TextEncoder().encode(text);
  return Buffer.compare(record, body) === 0 ? undefined : record;
}

/**
 * Keeps the headers that describe the answer itself, and so suit any caller; drops those about the
 * vendor's request and the first call.
 */
function answerHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    answerHeaderNames.flatMap((name) => headers[name] === undefined ? [] : [[name, headers[name]]]),
  );
}

const answerHeaderNames = [
  "cache-control",
  "content-language",
  "content-type",
  "openai-model",
  "openai-version",
  "x-accel-buffering",
  "x-model",
  "x-reasoning-included",
  "x-renamed-fields",
  "x-translation-loss",
] as const;
