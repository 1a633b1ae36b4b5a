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
   * Runs one call: `work` makes one or more vendor requests, returns the caller's answer and reports
   * the usage. If it throws, the call ends as failed and the error is rethrown.
   */
  run(
    call: OperationCall,
    work: (ctx: OperationContext) => Promise<OperationAnswer>,
  ): Promise<Reply>;
}

/** A validated call with its vendor. */
export interface OperationCall {
  caller: CallContext;
  /** Its name in records, and the fields of its payloads that hold media. */
  form: RecordedForm;
  target: ResolvedModel;
  /** The model as the caller wrote it. */
  requestedModel: string;
  stream: boolean;
  endUser?: string | undefined;
  tags?: PromptTags;
  /** JSON text for the record. */
  requestText: string;
  /** Media that it references by hash. */
  requestMedia?: readonly Media[];
  /** Paths of unsupported fields in the caller's request. */
  losses?: readonly string[];
  /** Files in the vendor's account that it references. */
  state?: readonly VendorState[];
  /** Upper bound of the usage of all its vendor requests. */
  bound: BoundInput;
}

/** The context of a call's work. */
export interface OperationContext {
  readonly vendorCall: VendorCallContext;
  /** The authorized cost; null with the caller's own vendor key. */
  readonly setAsideNanos: bigint | null;
  /** Takes usage, also during the call: if it breaks off, the reported usage is billed. */
  readonly meter: OperationMeter;
  /** The vendor's successful answer; any other is thrown as a fault, after retries. */
  ask(request: VendorRequest): Promise<UpstreamAnswer>;
  /** The whole body, within the memory limit for answers. */
  read(answer: UpstreamAnswer): Promise<Uint8Array>;
}

/** The caller's answer. */
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

/** Listens to an operation's stream; see `StreamListener`. */
export interface OperationListener {
  /** The bytes for the caller; `isLast`: don't wait for the vendor to close. */
  take(piece: Uint8Array): { bytes?: Uint8Array | undefined; isLast?: boolean };
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
  /** For an unreadable answer: the usage is estimated from the request, unless more is known. */
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
 * The vendor's successful answer. A prompt that an aggregator flags with 403 is a content policy
 * violation, as if the vendor itself had refused it.
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

/** The cost of a call so far in nano-dollars; null without a price. */
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

/** Adapts an operation's listener to the pipeline. */
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

/** A truncated answer, or one we failed to read, was generated and is billed; an invalid one isn't. */
function isUnreadable(thrown: unknown): boolean {
  if (isAbort(thrown)) return false;
  return !(thrown instanceof Fault) || thrown.code === "upstream_stream_truncated";
}

/** Latin text is read at about 14 characters a second. */
const charactersPerSecond = 14;

/** Estimates the usage of an answer from its request alone. */
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
