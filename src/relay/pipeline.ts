import { heavyUnits } from "../base/heavy_json.ts";
import { errors, lastingErrors } from "../../contracts/kernel/errors.ts";
import { Fault } from "../shared/fault.ts";
import type { Media } from "../shared/media.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import { isAbort, type UpstreamBody } from "../vendors/upstream.ts";
import { type AccessDeps, accessVendor, type PriceDeps, requirePrice } from "./admit.ts";
import { budgetOf, VendorCallContext } from "./vendor_call.ts";
import type { BackgroundCall, BackgroundTask } from "./background_task.ts";
import { askedTtl, type CachedCallDeps, throughCache } from "./cached_call.ts";
import { type CacheUse, Call, type Candidate, nothingHeld } from "./call.ts";
import type { CallDeps } from "./call_deps.ts";
import type { CallContext } from "./call_context.ts";
import { drainLeft } from "./drained_call.ts";
import type { Ending } from "./ending.ts";
import type { CallMeter } from "./meter.ts";
import type { RecordedRequest } from "./recorded_request.ts";
import { addSettledHeaders, callerLeftReply, modelHeader, type Reply } from "./reply.ts";
import type { TargetHealth } from "../routing/target_health.ts";
import {
  failedStatus,
  forwardStream,
  StreamFailure,
  type StreamListener,
} from "./stream_forwarder.ts";
import type { BudgetHolds } from "../budgets/budget_holds.ts";
import type { SpendCaps } from "../credit/spend_cap.ts";
import type { Reservations } from "../credit/reservations.ts";

export interface PipelineDeps extends CachedCallDeps, AccessDeps, PriceDeps {
  newTransactionId: () => string;
  reservations: Reservations;
  spendCaps: Pick<SpendCaps, "reserve">;
  budgetHolds: Pick<BudgetHolds, "reserve">;
  targetHealth: TargetHealth;
}

/** The credit and the room under spend caps and budgets that are held for one call. */
export interface Authorization {
  /** The lease that the charge comes out of. */
  readonly leaseId: string | null;
  /** The leases of caps and budgets that the charge comes out of too; absent: there are none. */
  readonly limitLeaseIds?: readonly string[];
  /** The amount that is held; null where the account is not charged. */
  readonly heldNanos: bigint | null;
  /** Ends the hold: the call was charged this many nano-dollars. Later calls do nothing. */
  settle(chargedNanos: bigint): void;
}

/** One or more candidates, in the order in which they are tried. */
export type Candidates<T> = readonly [T, ...T[]];

/** A request of any kind that has passed its contract: text, pictures, speech, embeddings. */
export interface CallRequest<M extends CallMeter> {
  readonly caller: CallContext;
  /** Set where the call goes on without its caller. */
  readonly background?: BackgroundCall | undefined;
  /** Finds the models that may answer. Throws a fault for an invalid request. */
  read(): ReadRequest<M> | Promise<ReadRequest<M>>;
}

/** A request whose models are known. */
export interface ReadRequest<M extends CallMeter> {
  readonly targets: Candidates<ResolvedModel>;
  /**
   * Prepares the request for each of these vendors; the heavy work is here. Throws a fault for an
   * invalid request: such a call is not recorded. Uses `eachPossible`, which leaves out vendors
   * that can't carry the request; more than `maxVendorRequests` plans could never be asked.
   */
  plan(vendorCalls: Candidates<VendorCallContext>): Promise<Candidates<CallPlan<M>>>;
  /**
   * Returns the key of the answer in the response cache; undefined where the answer can't be
   * reused. Called before `plan`. Absent: such calls don't use the cache.
   */
  answerKey?(vendorCalls: Candidates<VendorCallContext>): Promise<string | undefined>;
}

/** A call that is ready to be sent to one vendor. */
export interface CallPlan<M extends CallMeter> extends Candidate<M> {
  /**
   * Makes the vendor requests and returns the caller's answer. If it throws, the next candidate is
   * asked, or the call ends. With another candidate left (`isLast` false) failed requests are not
   * retried.
   */
  execute(call: Call<M>, isLast: boolean): Promise<CallAnswer>;
}

/** What the caller gets. */
export type CallAnswer = WholeAnswer | StreamAnswer;

export interface WholeAnswer {
  status: number;
  headers: Record<string, string>;
  body: Exclude<Reply["body"], null>;
  /** See `Reply`. */
  hold?: () => () => void;
  /** JSON text for the record. */
  recordText: string;
  /** Media that `recordText` references by hash. */
  recordMedia?: readonly Media[];
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
 * The steps of every call: admit, plan, authorize, execute, settle. A call that is refused before
 * it begins leaves no record; once it has begun it is settled exactly once. The response cache, where
 * the caller asks for it, answers after the plan: a request that can't be carried is refused first.
 */
export async function runCall<M extends CallMeter>(
  deps: PipelineDeps,
  request: CallRequest<M>,
): Promise<Reply> {
  // Also refuses a wrong X-Record, before anything is done for the call.
  const ttlSeconds = askedTtl(request.caller);
  const { read, vendorCalls } = await admit(deps, request);
  if (ttlSeconds === undefined || !read.answerKey) {
    return await makeCall(deps, request, await read.plan(vendorCalls));
  }
  const key = await read.answerKey(vendorCalls);
  const plans = await read.plan(vendorCalls);
  return await throughCache(
    deps,
    plans,
    { key, ttlSeconds },
    (cache) => makeCall(deps, request, plans, cache),
  );
}

async function makeCall<M extends CallMeter>(
  deps: PipelineDeps,
  { background }: CallRequest<M>,
  plans: Candidates<CallPlan<M>>,
  cache?: CacheUse,
): Promise<Reply> {
  const authorization = await ensureAuthorized(deps, plans, background?.authorization);
  const call = await begin(deps, plans, { authorization, task: background?.task, cache });
  if (background?.taken) {
    call.answered();
    const [{ vendorCall: { target }, recorded: { plan: { losses } } }] = plans;
    return await background.taken({ call, target, authorization, losses });
  }
  return await execute(deps, plans, call);
}

/**
 * Checks that the journal takes calls and the key may use the models; finds vendor keys and prices.
 */
async function admit<M extends CallMeter>(
  deps: PipelineDeps,
  request: CallRequest<M>,
): Promise<{ read: ReadRequest<M>; vendorCalls: Candidates<VendorCallContext> }> {
  deps.recorder.admit();
  const { caller, background } = request;
  const read = await request.read();
  const transactionId = background?.task.transactionId ?? deps.newTransactionId();
  // Only the first possible model's price is waited for: the others may never be asked.
  let mayWait = true;
  const vendorCalls = await eachPossible(read.targets, async (target) => {
    const access = await accessVendor(deps, caller, target);
    const price = access.isManaged
      ? await requirePrice(deps, target, caller, mayWait)
      : deps.prices.find(target.vendor.label, target.model, caller.arrivedAt);
    mayWait = false;
    return new VendorCallContext(access, transactionId, price);
  });
  return { read, vendorCalls };
}

/**
 * Returns the results of `act` for the items, in order, and stops after `most` results. Items for
 * which it throws a fault are left out; if that is all of them, throws the first fault.
 */
export async function eachPossible<T, R>(
  items: Candidates<T>,
  act: (item: T) => R | Promise<R>,
  most = Infinity,
): Promise<Candidates<R>> {
  const made: R[] = [];
  let refusal: Fault | undefined;
  for (const item of items) {
    if (made.length === most) break;
    try {
      made.push(await act(item));
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown;
      refusal ??= thrown;
    }
  }
  const [first, ...others] = made;
  if (first === undefined) throw refusal;
  return [first, ...others];
}

/**
 * Returns what has been held for a background call since it was accepted. If the call can cost more
 * by now (the vendor key that it was to use is removed, or its virtual model leads to a dearer
 * model), releases that and authorizes the call like any other.
 */
async function ensureAuthorized<M extends CallMeter>(
  deps: PipelineDeps,
  plans: Candidates<CallPlan<M>>,
  held: Authorization | undefined,
): Promise<Authorization> {
  if (held && (boundOf(plans) ?? 0n) <= (held.heldNanos ?? 0n)) return held;
  held?.settle(0n);
  return await authorize(deps, plans);
}

/** Returns the most that the dearest of the candidates can cost; null where none is charged. */
function boundOf(plans: Candidates<Pick<Chargeable, "boundNanos">>): bigint | null {
  return plans.reduce<bigint | null>((most, { boundNanos }) => greater(most, boundNanos), null);
}

/**
 * Holds the most that the dearest of the candidates can cost. Where the key expects less, holds
 * only that much of the credit; its caps hold the most even then, and so limit how far the balance
 * can fall below zero. Throws `insufficient_credits`, `spend_cap_exceeded`, and `store_unavailable`
 * where it can't be determined whether one of these applies.
 */
async function authorize(
  { reservations, spendCaps, budgetHolds }: PipelineDeps,
  plans: Candidates<Chargeable>,
): Promise<Authorization> {
  const upperBoundNanos = boundOf(plans);
  let heldNanos: bigint | null = null;
  for (const { boundNanos, expectedNanos } of plans) {
    heldNanos = greater(heldNanos, expectedNanos ?? boundNanos);
  }
  if (upperBoundNanos === null || heldNanos === null) return nothingHeld;
  const { vendorCall: { caller }, recorded: { facts } } = plans[0];
  const { principal: { key, account }, arrivedAt: at } = caller;
  const holds: { settle(chargedNanos: bigint): void }[] = [];
  const settle = (chargedNanos: bigint) => holds.forEach((hold) => hold.settle(chargedNanos));
  try {
    const caps = await spendCaps.reserve(key, { upperBoundNanos, at });
    holds.push(caps);
    const budgets = await budgetHolds.reserve(
      {
        accountId: account.id,
        app: facts.tags.app ?? key.defaults?.app ?? null,
        userId: caller.userId ?? facts.endUser ?? null,
      },
      { upperBoundNanos, at },
    );
    holds.push(budgets);
    const reservation = await reservations.reserve(account.id, heldNanos);
    holds.push(reservation);
    const { leaseId } = reservation;
    const limitLeaseIds = [...caps.leaseIds, ...budgets.leaseIds];
    if (limitLeaseIds.length === 0) return { leaseId, heldNanos, settle };
    return { leaseId, limitLeaseIds, heldNanos, settle };
  } catch (thrown) {
    settle(0n);
    throw thrown;
  }
}

/** The parts of a call that decide whether its account can pay for it. */
type Chargeable =
  & Pick<Candidate<CallMeter>, "vendorCall" | "boundNanos" | "expectedNanos">
  & { readonly recorded: { readonly facts: Pick<RecordedRequest["facts"], "tags" | "endUser"> } };

/**
 * Refuses a call that can't be paid for, with the faults of its authorization, but holds nothing.
 * Called before anything is fetched for the call, when its bound may be known only in part.
 */
export async function requireAuthorization(deps: PipelineDeps, call: Chargeable): Promise<void> {
  (await authorize(deps, [call])).settle(0n);
}

/** Returns the greater of two amounts; null is no amount. */
function greater(one: bigint | null, other: bigint | null): bigint | null {
  if (one === null || other === null) return one ?? other;
  return one > other ? one : other;
}

/** Begins the call in the journal; releases what was held where that fails. */
async function begin<M extends CallMeter>(
  deps: CallDeps,
  [first]: Candidates<CallPlan<M>>,
  held: {
    authorization: Authorization;
    task: BackgroundTask | undefined;
    cache: CacheUse | undefined;
  },
): Promise<Call<M>> {
  try {
    return await new Call(deps, first, held).begin();
  } catch (thrown) {
    held.authorization.settle(0n);
    throw thrown;
  }
}

/** Returns the caller's reply. However execution ends, the call is settled exactly once. */
async function execute<M extends CallMeter>(
  deps: PipelineDeps,
  plans: Candidates<CallPlan<M>>,
  call: Call<M>,
): Promise<Reply> {
  const { caller } = plans[0].vendorCall;
  const { signal, trace } = caller;
  const answerEnded = drainLeft(call.streams, caller);
  let ending: Ending | undefined;
  let whole: Reply | undefined;
  try {
    const answered = await firstAnswer(deps, plans, call);
    ending = answered.ending;
    if (ending) whole = answered.reply;
    return answered.reply;
  } catch (thrown) {
    ending = endingOf(thrown, signal.aborted);
    // The caller has left; the status is for the log.
    if (ending.status === "cancelled") return callerLeftReply;
    throw thrown instanceof StreamFailure ? thrown.fault : thrown;
  } finally {
    // A stream that was handed over settles the call when it ends.
    if (ending) await call.settle(ending);
    answerEnded();
    // Cost and charge are known only after settling.
    if (whole) addSettledHeaders(whole.headers, trace);
  }
}

/** `ending` is absent where a stream settles the call. */
interface Answered {
  reply: Reply;
  ending?: Ending;
}

/**
 * Asks the candidates in order until one answers. It returns once the caller has the first byte of
 * an answer, so a later failure never moves on to another candidate.
 */
async function firstAnswer<M extends CallMeter>(
  deps: PipelineDeps,
  plans: Candidates<CallPlan<M>>,
  call: Call<M>,
): Promise<Answered> {
  const { targetHealth } = deps;
  let [plan, ...left] = plans;
  const failures: unknown[] = [];
  let hasPassedOver = false;
  for (;;) {
    const { caller: { signal }, target } = plan.vendorCall;
    const [next, ...others] = left;
    const isLast = next === undefined || call.requestsLeft <= 1;
    // Since the candidates were put in order, another call may have begun a trial of this target.
    if (isLast || !targetHealth.isCooling(target) || !anyNotCooling(targetHealth, left)) {
      try {
        return await askCandidate(deps, plan, call, isLast);
      } catch (thrown) {
        const isOver = next === undefined || call.requestsLeft === 0;
        if (!mayAnotherAnswer(thrown)) throw thrown;
        failures.push(thrown);
        if (isOver || signal.aborted) {
          throw lastFailure(failures, hasPassedOver || next !== undefined);
        }
        targetHealth.passed(target);
      }
    } else {
      hasPassedOver = true;
    }
    call.moveTo(next!);
    [plan, left] = [next!, others];
  }
}

function anyNotCooling<M extends CallMeter>(
  targetHealth: TargetHealth,
  plans: readonly CallPlan<M>[],
): boolean {
  return plans.some(({ vendorCall: { target } }) => !targetHealth.isCooling(target));
}

/**
 * Asks one candidate and notes how its target fares. If an answer turns out to be an error about
 * its key, asks again with another key of the service.
 */
async function askCandidate<M extends CallMeter>(
  deps: PipelineDeps,
  plan: CallPlan<M>,
  call: Call<M>,
  isLast: boolean,
): Promise<Answered> {
  const { targetHealth } = deps;
  const { vendorCall } = plan;
  const { caller: { signal }, target } = vendorCall;
  targetHealth.asked(target);
  for (;;) {
    try {
      const answered = await answerOf(deps, plan, call, isLast);
      targetHealth.answered(target);
      nameTarget(answered.reply.headers, target, call);
      return answered;
    } catch (thrown) {
      const fault = faultIn(thrown);
      if (signal.aborted || !fault) {
        targetHealth.released(target);
        throw thrown;
      }
      call.attemptFailed(fault.code);
      const hasOtherKey = vendorCall.restAnsweringKey(fault);
      if (!hasOtherKey || hasProduced(call) || budgetOf(call, isLast).left <= 0) {
        noteFailure(targetHealth, vendorCall, fault);
        const last = vendorCall.lastFault(fault);
        throw thrown instanceof StreamFailure ? new StreamFailure(last) : last;
      }
      call.moveTo(plan);
    }
  }
}

/**
 * Whether the candidate's meter has counted part of an answer: the answer of the next try would be
 * added to it.
 */
function hasProduced<M extends CallMeter>({ meter }: Call<M>): boolean {
  return meter.finishReason !== undefined ||
    meter.counted({ promptUsage: () => ({ input: 0 }) }) !== undefined;
}

/** Adds the headers that name the model that answered and the number of vendor requests. */
function nameTarget(
  headers: Record<string, string>,
  target: ResolvedModel,
  { requestsMade }: { readonly requestsMade: number },
): void {
  headers["x-model"] ??= modelHeader(target.id);
  if (requestsMade > 1) headers["x-attempts"] = String(requestsMade);
}

/**
 * Faults that say nothing about a target: our own, and those of a vendor key that is not the
 * service's.
 */
const inconclusiveCodes: ReadonlySet<Fault["code"]> = new Set<Fault["code"]>([
  "internal_error",
  "invalid_vendor_api_key",
  "overloaded",
  "vendor_quota_exhausted",
]);

function noteFailure(
  targetHealth: TargetHealth,
  { target, isManaged }: VendorCallContext,
  fault: Fault,
): void {
  const { code, retryAfterSeconds } = fault;
  const isOwnLimit = code === "upstream_rate_limited" && !isManaged;
  if (isOwnLimit || inconclusiveCodes.has(code)) return targetHealth.released(target);
  if (fallbackCodes.has(code)) targetHealth.failed(target, retryAfterSeconds);
  else targetHealth.answered(target);
}

async function answerOf<M extends CallMeter>(
  deps: CallDeps,
  plan: CallPlan<M>,
  call: Call<M>,
  isLast: boolean,
): Promise<Answered> {
  const { caller } = plan.vendorCall;
  const answer = await plan.execute(call, isLast);
  if ("listener" in answer) return { reply: await streamReply(deps, caller, call, answer) };
  const { status, headers, body, hold, recordText: responseText, isTruncated = false } = answer;
  const step = responseText.length > heavyUnits ? caller.heavyStep?.() : undefined;
  if (step) await call.prepare(responseText, step, { isCut: isTruncated });
  const recorded = { responseText, responseMedia: answer.recordMedia, isTruncated };
  const hasLeft = caller.signal.aborted;
  const ending: Ending = {
    status: hasLeft && !caller.trace.outlivesCaller ? "cancelled" : "completed",
    httpStatus: hasLeft ? null : status,
    ...recorded,
  };
  return { reply: { status, headers, body, ...(hold ? { hold } : {}) }, ending };
}

/** Failures of a vendor, or of the service's key there. All others are about the request itself. */
const fallbackCodes: ReadonlySet<Fault["code"]> = new Set<Fault["code"]>([
  "overloaded",
  "upstream_authentication_failed",
  "upstream_error",
  "upstream_invalid_response",
  "upstream_invalid_tool_call",
  "upstream_overloaded",
  "upstream_quota_exhausted",
  "upstream_rate_limited",
  "upstream_stream_truncated",
  "upstream_timeout",
  "upstream_unreachable",
]);

/** Whether another vendor may be able to answer where one has failed with this error. */
export function mayAnotherAnswer(thrown: unknown): boolean {
  const fault = faultIn(thrown);
  return fault !== undefined && fallbackCodes.has(fault.code);
}

/**
 * Returns the last of the failures of a call's models, `isAnyLeft` if another one was not asked, and
 * notes in it whether a retry may be answered by another one.
 */
export function lastFailure(failures: readonly unknown[], isAnyLeft: boolean): unknown {
  const last = failures.at(-1);
  const mayPass = isAnyLeft || failures.length > 1 &&
      failures.some((one) => !lastingErrors.has(faultIn(one)?.code ?? "internal_error"));
  const fault = faultIn(last);
  if (fault) fault.isOneOfSeveral = mayPass;
  return last;
}

function faultIn(thrown: unknown): Fault | undefined {
  const fault = thrown instanceof StreamFailure ? thrown.fault : thrown;
  return fault instanceof Fault ? fault : undefined;
}

async function streamReply<M extends CallMeter>(
  { clock }: CallDeps,
  caller: CallContext,
  call: Call<M>,
  { status, headers, body, listener }: StreamAnswer,
): Promise<Reply> {
  try {
    const stream = await forwardStream({
      call,
      listener,
      body,
      onDisconnect: caller.principal.key.onDisconnect,
      signal: caller.signal,
      trace: caller.trace,
      httpStatus: status,
      nowMs: () => clock.monotonicMs(),
      heavyStep: caller.heavyStep,
    });
    // `x-accel-buffering` stops proxies in front of the service from buffering events.
    const unbuffered = { "cache-control": "no-store", "x-accel-buffering": "no" };
    return { status, headers: { ...headers, ...unbuffered }, body: stream };
  } catch (thrown) {
    if (thrown instanceof StreamFailure) {
      thrown.fault.vendorRequestId ??= headers["x-vendor-request-id"];
    }
    throw thrown;
  }
}

/** Returns how a call ended, given what it threw. */
export function endingOf(thrown: unknown, callerLeft: boolean): Ending {
  if (isAbort(thrown) || callerLeft) return { status: "cancelled", httpStatus: null };
  const fault = faultIn(thrown);
  const code = fault?.code ?? "internal_error";
  return {
    status: failedStatus(code),
    httpStatus: errors[code].status,
    errorCode: code,
    ...(fault ? { fault } : {}),
  };
}
