import type { ByteGate } from "../base/byte_gate.ts";
import { joinBytes } from "../base/bytes.ts";
import { type SseEvent, SseSplitter } from "../base/sse.ts";
import type { HostedWork } from "../dialects/kernel/hosted.ts";
import { likelySeconds, speechTokens } from "../dialects/media/operations/speech.ts";
import { likelyTranscript } from "../dialects/media/operations/transcriptions.ts";
import { type CostBounds, costBoundsOf } from "../pricing/plausible.ts";
import {
  type BillableUsage,
  type BoundInput,
  severalRequests,
  upperBoundNanos,
} from "../pricing/pricing.ts";
import {
  askVendor,
  budgetOf,
  type RequestBudget,
  type VendorCallContext,
  type VendorRequest,
} from "../relay/vendor_call.ts";
import { eventExcess } from "../relay/answer_limits.ts";
import { type Call, maxVendorRequests } from "../relay/call.ts";
import type { RecordedForm } from "../relay/recorded_request.ts";
import { type CallContext, stepFor } from "../relay/call_context.ts";
import { type BoundPayload, boundPayloadSteps, payloadLimits } from "../records/payload.ts";
import {
  type CallAnswer,
  type CallPlan,
  type Candidates,
  eachPossible,
  type PipelineDeps,
  requireAuthorization,
  runCall,
  type StreamAnswer,
} from "../relay/pipeline.ts";
import { hostedTokens, refuseHosted } from "../relay/plan/hosted_work.ts";
import { validateTranslationHeaders } from "../relay/plan/plan_call.ts";
import type { Reply } from "../relay/reply.ts";
import { isWholeEvent, lacksBlankLine } from "../relay/last_event.ts";
import type { StreamListener, StreamOutput, StreamRecord } from "../relay/stream_forwarder.ts";
import { Fault, unreadableAnswer } from "../shared/fault.ts";
import type { Media } from "../shared/media.ts";
import type { PromptTags } from "../shared/prompt_tags.ts";
import { estimateTokens } from "../shared/token_estimate.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import { isAbort, type Upstream, type UpstreamAnswer } from "../vendors/upstream.ts";
import { AnswerRoom } from "../relay/answer_room.ts";
import { chargesReport } from "../vendors/reported_cost.ts";
import { errorBody } from "../../contracts/kernel/error_bodies.ts";
import type { BillingBasis, FinishReason, VendorAttempt } from "../shared/interaction.ts";
import {
  type Bill,
  billOf,
  type BillTerms,
  type CallMeter,
  type Counted,
  nothingBilled,
} from "../relay/meter.ts";

/** Calls of media and embeddings, on the same pipeline as text. */
export interface Operations {
  /**
   * Runs one call: `work` makes one or more vendor requests, returns the caller's answer and reports
   * the usage. If it throws, the call ends as failed and the error is rethrown.
   */
  run<T extends OperationTarget>(call: OperationCall<T>, work: OperationWork<T>): Promise<Reply>;
}

/** Makes the vendor requests of a call at one of its targets. */
export type OperationWork<T> = (ctx: OperationContext, at: T) => Promise<OperationAnswer>;

export interface OperationTarget {
  target: ResolvedModel;
  /** Paths in the caller's request of fields that its vendor doesn't support. */
  losses?: readonly string[];
}

/** A validated call with the models that may answer it. */
export interface OperationCall<T extends OperationTarget = OperationTarget> {
  caller: CallContext;
  /** The operation's name in records, and the fields of its payloads that hold media. */
  form: RecordedForm;
  /** In the order in which they are asked. */
  targets: Candidates<T>;
  /** The model as the caller wrote it. */
  requestedModel: string;
  stream: boolean;
  endUser?: string | undefined;
  tags?: PromptTags;
  requestText: string;
  /** Media that `requestText` references by hash. */
  requestMedia?: readonly Media[];
  /** What the call asks the vendor to run besides the model. */
  hosted?: HostedWork | undefined;
  /** Upper bound of the usage of all the call's vendor requests, without hosted work. */
  bound: BoundInput;
  /** Likely output tokens of one picture, or of the speech; `bound` has the most. */
  likelyOutputTokens?: number;
  /** Fetches what the request names by URL; called only where the account can pay for the call. */
  fetch?: (() => Promise<void>) | undefined;
}

export interface OperationContext {
  readonly vendorCall: VendorCallContext;
  /** What the call can cost at this vendor. */
  readonly costBounds: CostBounds;
  /** Takes usage at any time: if the call breaks off, the usage reported so far is billed. */
  readonly meter: OperationMeter;
  /** Returns the vendor's successful answer; any other is thrown as a fault, after retries. */
  ask(request: VendorRequest): Promise<UpstreamAnswer>;
  /**
   * Reads the whole body, within the memory limit for answers. `brokenOff` gets the bytes that
   * came, if the body breaks off.
   */
  read(
    answer: UpstreamAnswer,
    brokenOff?: (bytes: Uint8Array) => void,
  ): Promise<Uint8Array>;
}

/** The caller's answer. */
export type OperationAnswer = WholeOperationAnswer | StreamedOperationAnswer;

export interface WholeOperationAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array;
  recordText: string;
  /** Media that `recordText` references by hash. */
  recordMedia?: readonly Media[];
  isTruncated?: boolean;
}

export interface StreamedOperationAnswer extends Omit<StreamAnswer, "listener"> {
  listener: OperationListener;
}

/** What the caller gets of a piece of an operation's stream. */
export interface PassedEvents {
  bytes?: Uint8Array | undefined;
  /** Ends the answer after `bytes`. */
  failure?: Fault;
}

interface OperationPiece extends PassedEvents {
  /** Don't wait for the vendor to close. */
  isLast?: boolean;
}

/** Listens to an operation's stream; see `StreamListener`. */
export interface OperationListener {
  take(piece: Uint8Array): OperationPiece;
  takeLast?(): OperationPiece;
  end(): Uint8Array | undefined;
  fail(fault: Fault): Uint8Array | undefined;
  settle(isComplete: boolean): StreamRecord;
}

export interface OperationDeps extends PipelineDeps {
  upstream: Upstream;
  /** Bounds the memory of answers. */
  answers: ByteGate;
}

export function createOperations(deps: OperationDeps): Operations {
  return {
    run: (asked, work) =>
      runCall(deps, {
        caller: asked.caller,
        read: () => {
          validateTranslationHeaders(asked.caller);
          const [first, ...others] = asked.targets;
          return {
            targets: [first.target, ...others.map(({ target }) => target)],
            plan: async (vendorCalls) => {
              const payload = await payloadOf(deps, asked);
              return await eachPossible(vendorCalls, async (one) => {
                const plan = planOperation(deps, { ...asked, payload }, one, work);
                if (!asked.fetch) return plan;
                await requireAuthorization(deps, plan);
                await asked.fetch();
                return plan;
              }, maxVendorRequests);
            },
          };
        },
      }),
  };
}

/** Returns what the call's record holds of its request, which may hold megabytes of media. */
async function payloadOf(
  deps: OperationDeps,
  { caller, form, requestText }: OperationCall,
): Promise<BoundPayload> {
  const limits = payloadLimits(deps, form);
  const step = stepFor(requestText.length, caller);
  return await step.inSteps(() => boundPayloadSteps(requestText, limits));
}

function planOperation<T extends OperationTarget>(
  deps: OperationDeps,
  asked: OperationCall<T> & { payload: BoundPayload },
  vendorCall: VendorCallContext,
  work: OperationWork<T>,
): CallPlan<OperationMeter> {
  const { isManaged, price } = vendorCall;
  const at = asked.targets.find(({ target }) => target === vendorCall.target)!;
  if (isManaged && asked.hosted) refuseHosted(asked.hosted, at.target.vendor.admitsUnpriced);
  const { form, requestedModel: model, stream, endUser, tags = {} } = asked;
  const bound = withHosted(asked);
  const bounds = isManaged && price
    ? costBoundsOf(bound, (inputTokens) => upperBoundNanos(price, { ...bound, inputTokens }))
    : { boundNanos: null };
  return {
    vendorCall,
    recorded: {
      dialect: form,
      facts: { model, stream, endUser, tags },
      plan: { losses: at.losses ?? [] },
      bodyText: asked.requestText,
      payload: asked.payload,
      bodyMedia: asked.requestMedia ?? [],
    },
    meter: new OperationMeter(() => deps.clock.monotonicMs()),
    ...bounds,
    execute: (call, isLast) =>
      executeOperation(deps, asked, { vendorCall, call, isLast }, (ctx) => work(ctx, at)),
  };
}

/** Adds to the bound the prompt tokens that hosted work adds to each vendor request. */
function withHosted({ bound, hosted }: OperationCall): BoundInput {
  const tokens = hosted ? (bound.requests ?? 1) * hostedTokens(hosted) : 0;
  const { inputTokens, believedInputTokens = inputTokens } = bound;
  return {
    ...bound,
    inputTokens: inputTokens + tokens,
    believedInputTokens: believedInputTokens + tokens,
  };
}

/** A larger answer is rejected. */
const maxAnswerBytes = 96 * 1024 * 1024;

async function executeOperation(
  deps: OperationDeps,
  asked: OperationCall,
  { vendorCall, call, isLast }: {
    vendorCall: VendorCallContext;
    call: Call<OperationMeter>;
    isLast: boolean;
  },
  work: (ctx: OperationContext) => Promise<OperationAnswer>,
): Promise<CallAnswer> {
  const { meter } = call;
  const budgets = requestBudgets(call, isLast);
  const room = new AnswerRoom(deps.answers, vendorCall.caller, maxAnswerBytes);
  let requests = 0;
  /** Estimates the usage from the request, unless a usage has been reported. */
  const estimate = () => {
    if (!meter.hasReport) meter.report(usageAskedFor(asked, requests), "estimated");
  };
  const unreadable = (thrown: unknown) => {
    call.stepFailed("bill", thrown);
    estimate();
  };
  try {
    const answer = await work({
      vendorCall,
      costBounds: call.costBounds,
      meter,
      ask(request) {
        requests++;
        const once = isLast ? request : { ...request, once: true };
        return askVendor(deps, vendorCall, once, budgets());
      },
      read: (answer, brokenOff) => room.read(answer, brokenOff),
    });
    if ("listener" in answer) {
      return { ...answer, listener: streamListener(answer.listener, meter, unreadable) };
    }
    return { ...answer, ...room.handOver(answer.body, answer.headers) };
  } catch (thrown) {
    if (room.bytes > 0 && !isAbort(thrown) && !(thrown instanceof Fault)) unreadable(thrown);
    else if (isBrokenOff(thrown, room)) estimate();
    throw thrown;
  } finally {
    room.leave();
  }
}

/**
 * The tries of each further request of the same answer: for the second picture, the second batch.
 */
const furtherTries = 3;

/**
 * Returns the budget of each request that a candidate makes. The first request is bounded by what
 * the call has left. If an answer takes several requests, each further one has its own tries.
 */
function requestBudgets(call: Call<OperationMeter>, isLast: boolean): () => RequestBudget {
  let isFirst = true;
  return () => {
    if (isFirst) {
      isFirst = false;
      return budgetOf(call, isLast);
    }
    const further = {
      left: isLast ? furtherTries : 1,
      attempted(attempt: VendorAttempt) {
        further.left--;
        call.attempted(attempt);
      },
    };
    return further;
  };
}

/**
 * Asks the vendor and returns its successful answer. A prompt that an aggregator flags with 403 is
 * a content policy violation, as if the vendor itself had refused it.
 */
export async function askMedia(
  ctx: OperationContext,
  request: VendorRequest,
): Promise<UpstreamAnswer> {
  try {
    return await ctx.ask(request);
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== "upstream_forbidden") throw thrown;
    if (!/moderat|flagged|content policy|safety/i.test(thrown.message)) throw thrown;
    throw new Fault("content_policy_violation", { message: thrown.message, cause: thrown });
  }
}

/** Returns the cost of a call so far in nano-dollars; null without a price. */
export function costOfCall(ctx: OperationContext): bigint | null {
  const { price, target } = ctx.vendorCall;
  return ctx.meter.bill({
    status: "completed",
    mode: ctx.vendorCall.mode,
    ...ctx.costBounds,
    price,
    priceOf: () => undefined,
    vendorCostBelieved: chargesReport(target.vendor, price),
    promptUsage: () => ({ input: 0 }),
  }).costNanos;
}

/** Reads the events of a stream that are passed on. */
interface EventReader {
  /** Reads an event; returns the fault where the event is an error. */
  read(event: SseEvent): Fault | undefined;
  /** Whether nothing relevant follows. */
  isLast(): boolean;
  /** Whether the answer is complete if the vendor ends it here. */
  isWhole(): boolean;
  settle(isComplete: boolean): StreamRecord;
}

/** An event larger than this ends the stream. */
export const maxEventBytes = 32 * 1024 * 1024;

/**
 * Such an event is parsed at once. It holds a picture, a sound or the words of a transcript, each of
 * which has a few values.
 */
const maxEventValues = 200_000;

/** Returns the fault of an event with more values than these streams have. */
export function mediaEventExcess(data: string): Fault | undefined {
  return eventExcess(data, maxEventValues);
}

/** Forwards events unchanged; a vendor's error event becomes ours. */
export function eventListener(requestId: string, reader: EventReader): OperationListener {
  const splitter = new SseSplitter({ maxEventBytes });
  let isOpen = false;
  const hear = (events: readonly SseEvent[]) =>
    passEvents(events, (event) => {
      const failure = reader.read(event);
      if (!failure) isOpen = lacksBlankLine(event);
      return failure;
    });
  return {
    take: (piece) => ({ ...hear(splitter.push(piece)), isLast: reader.isLast() }),
    takeLast() {
      const events = splitter.end().filter((event) => isWholeEvent(event, mediaEventExcess));
      return { ...hear(events), isLast: reader.isWhole() };
    },
    end() {
      if (!reader.isWhole()) throw new Fault("upstream_stream_truncated");
      return isOpen ? bytesOf("\n\n") : undefined;
    },
    // Without a blank line, callers would read it as part of the event before.
    fail: (fault) => bytesOf((isOpen ? "\n\n" : "") + errorEvent(fault, requestId)),
    settle: (isComplete) => reader.settle(isComplete),
  };
}

/**
 * Returns the events as they came, up to one that is too large to be parsed or in which `read`
 * finds a failure.
 */
function passEvents(
  events: readonly SseEvent[],
  read: (event: SseEvent) => Fault | undefined,
): PassedEvents {
  const passed: Uint8Array[] = [];
  const bytes = () => passed.length === 0 ? undefined : joinBytes(passed);
  for (const event of events) {
    const { data } = event;
    const failure = (data === undefined ? undefined : mediaEventExcess(data)) ?? read(event);
    if (failure) return { bytes: bytes(), failure };
    passed.push(event.bytes);
  }
  return { bytes: bytes() };
}

function streamListener(
  listener: OperationListener,
  meter: OperationMeter,
  unreadable: (thrown: unknown) => void,
): StreamListener {
  const pass = ({ bytes, isLast, failure }: OperationPiece, output: StreamOutput) => {
    if (failure && !bytes) throw failure;
    meter.began();
    output.begin();
    if (isLast) output.complete();
    if (bytes) output.send(bytes);
    if (failure) throw failure;
  };
  return {
    take: (piece, output) => pass(listener.take(piece), output),
    takeLast(output) {
      const last = listener.takeLast?.();
      if (last?.bytes || last?.failure) pass(last, output);
    },
    end(output) {
      const rest = listener.end();
      if (output.hasBegun || rest !== undefined) return rest;
      throw unreadableAnswer("an answer without a byte");
    },
    fail: (fault) => listener.fail(fault),
    settle(isComplete) {
      try {
        return listener.settle(isComplete);
      } catch (thrown) {
        unreadable(thrown);
        return { isTruncated: true };
      }
    },
  };
}

/**
 * Whether the vendor had generated something that the caller didn't get: its answer was cut, fell
 * silent, grew too large or couldn't be decompressed, or the caller left in its middle. A whole
 * body that is not a valid answer costs nothing.
 */
function isBrokenOff(thrown: unknown, room: AnswerRoom): boolean {
  const code = thrown instanceof Fault ? thrown.code : undefined;
  if (code === "upstream_stream_truncated") return room.bytes > 0;
  const isInMiddle = isAbort(thrown) || code === "upstream_timeout" ||
    code === "upstream_invalid_response";
  return room.isHalfRead && isInMiddle;
}

/**
 * Returns the usage that was asked for; of pictures, only the share of the vendor requests that
 * were made, each of which is for as many.
 */
function usageAskedFor(asked: OperationCall, requests: number): BillableUsage {
  const { bound, requestText } = asked;
  const { characters, maxOutputTokens, choices = 1 } = bound;
  const input = Math.min(bound.inputTokens, estimateTokens(requestText));
  if (bound.images) {
    const share = Math.min(1, requests / (bound.requests ?? 1));
    const output = (asked.likelyOutputTokens ?? maxOutputTokens) * Math.ceil(choices * share);
    const images = bound.images.map((one) => ({ ...one, count: Math.ceil(one.count * share) }));
    return { input, output, imageOutput: output, images, ...severalRequests(requests) };
  }
  if (characters === undefined) {
    if (bound.seconds === undefined) return { input, output: 0 };
    return { ...likelyTranscript(bound.seconds), seconds: bound.seconds };
  }
  const seconds = likelySeconds(characters);
  const likely = asked.likelyOutputTokens ?? speechTokens(seconds);
  const output = Math.min(maxOutputTokens, likely);
  return { input, output, audioOutput: output, characters, seconds };
}

/** Returns the event that ends a stream of pictures or sound with an error. */
function errorEvent({ code, message, param }: Fault, requestId: string): string {
  const envelope = errorBody({ code, message, param, requestId }, "chat");
  const body = JSON.stringify({ type: "error", ...envelope as object });
  return `event: error\ndata: ${body}\n\n`;
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The usage of an operation's call, as reported by the reader of its answers. */
class OperationMeter implements CallMeter {
  readonly #nowMs: () => number;
  #firstTokenMs: number | undefined;
  #finish: FinishReason | undefined;
  #reported: Counted | undefined;

  /** `nowMs` is a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The first byte of the answer has arrived. */
  began(): void {
    this.#firstTokenMs ??= this.#nowMs();
  }

  /** The last report before the end counts; with several vendor requests it is their sum. */
  report(usage: BillableUsage, basis: BillingBasis, finish?: FinishReason): void {
    this.began();
    this.#reported = { usage, basis };
    this.#finish = finish ?? this.#finish;
  }

  get firstTokenMs(): number | undefined {
    return this.#firstTokenMs;
  }

  get finishReason(): FinishReason | undefined {
    return this.#finish;
  }

  get hasReport(): boolean {
    return this.#reported !== undefined;
  }

  counted(): Counted | undefined {
    return this.#reported;
  }

  bill(terms: BillTerms): Bill {
    if (!this.#reported) return nothingBilled;
    return billOf(this.#reported.usage, this.#reported.basis, terms);
  }
}
