import type { ByteGate } from "../base/byte_gate.ts";
import { optionalField } from "../dialects/kernel/optional_field.ts";
import type { VendorState } from "../dialects/kernel/hosted.ts";
import { speechTokens } from "../dialects/media/operations/speech.ts";
import { type BillableUsage, type BoundInput, upperBoundNanos } from "../pricing/pricing.ts";
import { askVendor, type VendorCallContext, type VendorRequest } from "../relay/ask_vendor.ts";
import type { Call } from "../relay/call.ts";
import type { CallContext } from "../relay/call_context.ts";
import type { RecordedForm } from "../relay/call_facts.ts";
import {
  type CallAnswer,
  type PipelineDeps,
  type PlannedCall,
  runCall,
} from "../relay/pipeline.ts";
import { refuseState } from "../relay/plan/hosted_work.ts";
import type { Reply } from "../relay/reply.ts";
import type { StreamListener, StreamRecord } from "../relay/stream_forwarder.ts";
import { Fault } from "../shared/fault.ts";
import type { Media } from "../shared/media.ts";
import type { PromptTags } from "../shared/prompt_tags.ts";
import { estimateTokens } from "../shared/token_estimate.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import {
  isAbort,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamBody,
} from "../vendors/upstream.ts";
import { AnswerRoom } from "./answer_room.ts";
import { OperationMeter } from "./operation_meter.ts";

/** Calls of media and embeddings, on the same pipeline as text. */
export interface Operations {
  /**
   * Makes one call: `work` asks the vendor, once or several times, and says what the caller gets
   * and what it came to. What it throws ends the call as failed, and is thrown again.
   */
  run(
    call: OperationCall,
    work: (ctx: OperationContext) => Promise<OperationAnswer>,
  ): Promise<Reply>;
}

/** A call that has passed its contract and whose vendor is known. */
export interface OperationCall {
  caller: CallContext;
  /** How the record names it, and where its payloads hold media. */
  form: RecordedForm;
  target: ResolvedModel;
  /** As the caller wrote it. */
  requestedModel: string;
  stream: boolean;
  endUser?: string | undefined;
  tags?: PromptTags;
  /** JSON text for the record. */
  requestText: string;
  /** Media that it names by hash. */
  requestMedia?: readonly Media[];
  /** Paths of what could not be carried, in the caller's words. */
  losses?: readonly string[];
  /** Files of the vendor's account that it names. */
  state?: readonly VendorState[];
  /** What it can come to at most, all requests to the vendor together. */
  bound: BoundInput;
}

/** What the work of one call is done with. */
export interface OperationContext {
  readonly vendorCall: VendorCallContext;
  /** What it can cost at most; null with a vendor key of the caller's own. */
  readonly setAsideNanos: bigint | null;
  /** Hears what the call came to, also while it runs: should it be cut, what was reported is billed. */
  readonly meter: OperationMeter;
  /** The vendor's answer with a good status; any other is thrown as a fault (retries included). */
  ask(request: VendorRequest): Promise<UpstreamAnswer>;
  /** The whole body; large ones a few at a time, so that memory stays flat. */
  read(answer: UpstreamAnswer): Promise<Uint8Array>;
}

/** What the caller gets. */
export type OperationAnswer = WholeOperationAnswer | StreamedOperationAnswer;

export interface WholeOperationAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array;
  /** JSON text for the record. */
  recordText: string;
  isTruncated?: boolean;
}

export interface StreamedOperationAnswer {
  status: number;
  headers: Record<string, string>;
  /** The vendor's body, unread. */
  body: UpstreamBody;
  listener: OperationListener;
}

/** Sees an operation's stream go by, piece by piece; see `StreamListener`. */
export interface OperationListener {
  /** What the caller gets for a piece; `isLast`: the vendor's closing is not waited for. */
  take(piece: Uint8Array): { bytes?: Uint8Array | undefined; isLast?: boolean };
  end(): Uint8Array | undefined;
  fail(fault: Fault): Uint8Array | undefined;
  settle(isComplete: boolean): StreamRecord;
}

export interface OperationDeps extends PipelineDeps {
  upstream: Upstream;
  /** Lets in answers of many bytes a few at a time. */
  answers: ByteGate;
}

export function createOperations(deps: OperationDeps): Operations {
  return {
    run: (asked, work) =>
      runCall(deps, {
        caller: asked.caller,
        read: () => ({
          target: asked.target,
          plan: (vendorCall) => planOperation(deps, asked, vendorCall, work),
        }),
      }),
  };
}

function planOperation(
  deps: OperationDeps,
  asked: OperationCall,
  vendorCall: VendorCallContext,
  work: (ctx: OperationContext) => Promise<OperationAnswer>,
): PlannedCall<OperationMeter> {
  if (vendorCall.isManaged) refuseState(asked.state ?? []);
  const { form, requestedModel: model, stream, endUser, tags = {} } = asked;
  return {
    recorded: {
      dialect: form,
      facts: { model, stream, endUser, tags },
      plan: { losses: asked.losses ?? [] },
      bodyText: asked.requestText,
      bodyMedia: asked.requestMedia ?? [],
    },
    meter: new OperationMeter(() => deps.clock.monotonicMs()),
    upperBound: (price) => upperBoundNanos(price, asked.bound),
    execute: (call) => executeOperation(deps, asked, { vendorCall, call }, work),
  };
}

async function executeOperation(
  deps: OperationDeps,
  asked: OperationCall,
  { vendorCall, call }: { vendorCall: VendorCallContext; call: Call<OperationMeter> },
  work: (ctx: OperationContext) => Promise<OperationAnswer>,
): Promise<CallAnswer> {
  const { meter } = call;
  const room = new AnswerRoom(deps.answers, vendorCall.caller);
  const asking = { upstream: deps.upstream, log: deps.log, now: () => deps.clock.now() };
  /** The answer can't be read: unless more is known, the call came to what was asked for. */
  const unreadable = (thrown: unknown) => {
    call.stepFailed("bill", thrown);
    if (!meter.hasReport) meter.report(usageAskedFor(asked), "estimated");
  };
  try {
    const answer = await work({
      vendorCall,
      setAsideNanos: call.setAsideNanos,
      meter,
      ask: (request) => askVendor(asking, vendorCall, request),
      read: (answer) => room.read(answer),
    });
    if ("listener" in answer) {
      return { ...answer, listener: streamListener(answer.listener, meter, unreadable) };
    }
    return { ...answer, ...room.handOver(answer.body, answer.headers) };
  } catch (thrown) {
    if (room.bytes > 0 && isUnreadable(thrown)) unreadable(thrown);
    throw thrown;
  } finally {
    room.leave();
  }
}

/**
 * The vendor's answer with a good status. A prompt that an aggregator holds back with 403, since it
 * was flagged, is refused like one that the vendor itself refuses.
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

/** What a call has cost so far, in nano-dollars; null when no price is known. */
export function costOfCall(ctx: OperationContext): bigint | null {
  return ctx.meter.bill({
    status: "completed",
    mode: ctx.vendorCall.mode,
    setAsideNanos: ctx.setAsideNanos,
    price: ctx.vendorCall.price,
    priceOf: () => undefined,
    vendorCostBelieved: ctx.vendorCall.target.vendor.reportsCost,
    promptTokens: () => 0,
  }).costNanos;
}

/** The pipeline's view of an operation's listener. */
function streamListener(
  listener: OperationListener,
  meter: OperationMeter,
  unreadable: (thrown: unknown) => void,
): StreamListener {
  return {
    take(piece, output) {
      const { bytes, isLast = false } = listener.take(piece);
      meter.began();
      output.begin();
      if (isLast) output.complete();
      if (bytes) output.send(bytes);
    },
    end(output) {
      const rest = listener.end();
      if (output.hasBegun || rest !== undefined) return rest;
      throw new Fault("upstream_invalid_response", { note: "an answer without a byte" });
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

/** An answer that was cut, or that we failed at, was made all the same; an invalid one was not. */
function isUnreadable(thrown: unknown): boolean {
  if (isAbort(thrown)) return false;
  return !(thrown instanceof Fault) || thrown.code === "upstream_stream_truncated";
}

/** Latin text is read at about 14 characters a second. */
const charactersPerSecond = 14;

/** The usage of an answer of which no more is known than what was asked for. */
function usageAskedFor({ bound, requestText }: OperationCall): BillableUsage {
  const { images, characters, maxOutputTokens, choices = 1 } = bound;
  const input = Math.min(bound.inputTokens, estimateTokens(requestText));
  if (images) {
    const output = maxOutputTokens * choices;
    return { input, output, imageOutput: output, images };
  }
  if (characters === undefined) {
    return { input, output: 0, ...optionalField("seconds", bound.seconds) };
  }
  const seconds = characters / charactersPerSecond;
  const output = Math.min(maxOutputTokens, speechTokens(seconds));
  return { input, output, audioOutput: output, characters, seconds };
}
