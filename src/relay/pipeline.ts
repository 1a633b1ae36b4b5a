import { errors } from "../../contracts/kernel/errors.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import { Fault } from "../shared/fault.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import { isAbort, type UpstreamBody } from "../vendors/upstream.ts";
import { type AccessDeps, accessVendor, type PriceDeps, requirePrice } from "./admit.ts";
import { VendorCallContext } from "./ask_vendor.ts";
import { type Authorization, authorize, type AuthorizeDeps, nothingHeld } from "./authorize.ts";
import type { BackgroundCall } from "./background_task.ts";
import { Call } from "./call.ts";
import type { CallContext } from "./call_context.ts";
import type { CallDeps, Ending, RecordedRequest } from "./call_facts.ts";
import type { CallMeter } from "./meter.ts";
import type { Reply } from "./reply.ts";
import { forwardStream, StreamFailure, type StreamListener } from "./stream_forwarder.ts";

export interface PipelineDeps extends CallDeps, AuthorizeDeps, AccessDeps, PriceDeps {
  newTransactionId: () => string;
}

/** A request of any kind that has passed its contract: text, pictures, speech, embeddings. */
export interface CallRequest<M extends CallMeter> {
  readonly caller: CallContext;
  /** The call goes on without its caller. */
  readonly background?: BackgroundCall | undefined;
  /** Reads which model is asked for. Throws what is wrong with the request. */
  read(): ReadRequest<M> | Promise<ReadRequest<M>>;
}

/** A request whose model is known. */
export interface ReadRequest<M extends CallMeter> {
  readonly target: ResolvedModel;
  /**
   * Prepares the request for one vendor, which is where its heavy work is. Throws what is wrong
   * with it: such a call is no interaction.
   */
  plan(vendorCall: VendorCallContext): PlannedCall<M> | Promise<PlannedCall<M>>;
}

/** A call that is ready for its vendor. */
export interface PlannedCall<M extends CallMeter> {
  /** What its record says of the request. */
  readonly recorded: RecordedRequest;
  readonly meter: M;
  /** The most that it can cost, in nano-dollars. Asked where the account is charged. */
  upperBound(price: PriceRow): bigint | Promise<bigint>;
  /** Makes the vendor requests, and says what the caller gets. What it throws ends the call. */
  execute(call: Call<M>): Promise<CallAnswer>;
}

/** What the caller gets. */
export type CallAnswer = WholeAnswer | StreamAnswer;

export interface WholeAnswer {
  status: number;
  headers: Record<string, string>;
  body: Exclude<Reply["body"], null>;
  /** JSON text for the record. */
  recordText: string;
  isTruncated?: boolean;
}

/** An answer that is passed on as it comes. */
export interface StreamAnswer {
  status: number;
  headers: Record<string, string>;
  /** The vendor's body, unread. */
  body: UpstreamBody;
  listener: StreamListener;
}

/**
 * The way of every call: admit, plan, authorize, execute, settle. What is refused before it begins
 * leaves no record; from then on it is settled exactly once.
 */
export async function runCall<M extends CallMeter>(
  deps: PipelineDeps,
  request: CallRequest<M>,
): Promise<Reply> {
  const { background } = request;
  const { read, vendorCall } = await admit(deps, request);
  const plan = await read.plan(vendorCall);
  const authorization = background?.authorization ?? await authorizePlan(deps, vendorCall, plan);
  const call = begin(deps, { vendorCall, plan, authorization, background });
  if (background?.taken) {
    call.answered();
    const { losses } = plan.recorded.plan;
    return await background.taken({ call, target: vendorCall.target, authorization, losses });
  }
  return await execute(deps, { vendorCall, plan, call });
}

/** The journal takes calls, the model may be called, and there are a vendor key and a price. */
async function admit<M extends CallMeter>(
  deps: PipelineDeps,
  request: CallRequest<M>,
): Promise<{ read: ReadRequest<M>; vendorCall: VendorCallContext }> {
  deps.recorder.admit();
  const { caller, background } = request;
  const read = await request.read();
  const { target } = read;
  const access = await accessVendor(deps, caller, target);
  const price = access.isManaged
    ? await requirePrice(deps, target, caller.arrivedAt)
    : deps.prices.find(target.vendor.label, target.model, caller.arrivedAt);
  const transactionId = background?.task.transactionId ?? deps.newTransactionId();
  return { read, vendorCall: new VendorCallContext(access, transactionId, price) };
}

/** Credit and room under caps for the most that the call can cost. */
async function authorizePlan<M extends CallMeter>(
  deps: AuthorizeDeps,
  { caller, transactionId, price, isManaged }: VendorCallContext,
  plan: PlannedCall<M>,
): Promise<Authorization> {
  if (!isManaged || !price) return nothingHeld;
  const { principal, arrivedAt: at } = caller;
  const boundNanos = await plan.upperBound(price);
  return await authorize(deps, { principal, transactionId, at, boundNanos });
}

/** Notes that the call begins; what was held is free again where that fails. */
function begin<M extends CallMeter>(
  deps: CallDeps,
  { vendorCall, plan, authorization, background }: {
    vendorCall: VendorCallContext;
    plan: PlannedCall<M>;
    authorization: Authorization;
    background: BackgroundCall | undefined;
  },
): Call<M> {
  try {
    const { recorded, meter } = plan;
    return new Call(
      deps,
      { ...recorded, vendorCall, authorization, task: background?.task },
      meter,
    );
  } catch (thrown) {
    authorization.settle(0n);
    throw thrown;
  }
}

/** The caller's reply. However the execution ends, the call is settled exactly once. */
async function execute<M extends CallMeter>(
  deps: CallDeps,
  running: { vendorCall: VendorCallContext; plan: PlannedCall<M>; call: Call<M> },
): Promise<Reply> {
  const { vendorCall: { caller: { signal } }, plan, call } = running;
  let ending: Ending | undefined;
  try {
    const answer = await plan.execute(call);
    if ("listener" in answer) return await streamReply(deps, running, answer);
    const { status, headers, body, recordText: responseText, isTruncated = false } = answer;
    ending = signal.aborted
      ? { status: "cancelled", httpStatus: null, responseText, isTruncated }
      : { status: "completed", httpStatus: status, responseText, isTruncated };
    return { status, headers, body };
  } catch (thrown) {
    ending = endingOf(thrown, signal.aborted);
    // Nobody is there to read it; the status is for the log.
    if (ending.status === "cancelled") return { status: 499, headers: {}, body: null };
    throw thrown instanceof StreamFailure ? thrown.fault : thrown;
  } finally {
    // A stream that was handed over settles the call when it ends.
    if (ending) await call.settle(ending);
  }
}

async function streamReply<M extends CallMeter>(
  { clock }: CallDeps,
  { vendorCall: { caller }, call }: { vendorCall: VendorCallContext; call: Call<M> },
  { status, headers, body, listener }: StreamAnswer,
): Promise<Reply> {
  try {
    const stream = await forwardStream({
      call,
      listener,
      body,
      onDisconnect: caller.principal.key.onDisconnect,
      goesOn: caller.goesOn,
      httpStatus: status,
      nowMs: () => clock.monotonicMs(),
    });
    // The second keeps a proxy in front of us from gathering the events.
    const unbuffered = { "cache-control": "no-store", "x-accel-buffering": "no" };
    return { status, headers: { ...headers, ...unbuffered }, body: stream };
  } catch (thrown) {
    body.destroy();
    if (thrown instanceof StreamFailure) {
      thrown.fault.vendorRequestId ??= headers["x-vendor-request-id"];
    }
    throw thrown;
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
