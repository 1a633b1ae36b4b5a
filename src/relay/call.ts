import type { Step } from "../base/heavy_work.ts";
import { type Bill, type CallMeter, type Meter, plainBill, recordBill } from "./meter.ts";
import { promptUsage as countPrompt } from "../dialects/kernel/prompt_text.ts";
import { nanosToUsd } from "../base/money.ts";
import { finish } from "../base/steps.ts";
import {
  bareInteraction,
  type CacheResult,
  type SettledCall,
  type VendorAttempt,
} from "../shared/interaction.ts";
import { reasonOf } from "../shared/fault.ts";
import { type CostBounds, storableCount } from "../pricing/plausible.ts";
import { isDearerTier, type PriceRow } from "../pricing/pricing.ts";
import type { VendorCallContext } from "./vendor_call.ts";
import type { Authorization } from "./pipeline.ts";
import type { BackgroundTask } from "./background_task.ts";
import type { CallDeps } from "./call_deps.ts";
import { type CallContext, CallTimes, clientOf } from "./call_context.ts";
import {
  type BoundPayload,
  boundPayload,
  type PayloadLimits,
  payloadLimits,
} from "../records/payload.ts";
import { drawingModel, unreportedSearches } from "./plan/hosted_work.ts";
import type { Ending } from "./ending.ts";
import type { OpenStreams } from "./open_streams.ts";
import { prepareAnswer, type PreparedAnswer } from "./prepared_answer.ts";
import { answerInSteps, type RecordedAnswer, recordedAnswer } from "./recorded_answer.ts";
import type { RecordedPlan, RecordedRequest } from "./recorded_request.ts";
import { recordModeOf } from "./record_mode.ts";
import type { SettlingStep } from "./settling_steps.ts";
import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import type { StoredResponseFields } from "../shared/stored_response.ts";
import { chargesReport } from "../vendors/reported_cost.ts";

type Payload = Pick<SettledCall, PayloadField | "media">;
type PayloadField = "requestText" | "responseText" | "payloadTruncated";

/** The most vendor requests of one call, over all its candidates, keys, dialects and retries. */
export const maxVendorRequests = 5;

/** A vendor that may answer a call, and what is recorded if it does. */
export interface Candidate<M extends CallMeter> extends CostBounds {
  readonly vendorCall: VendorCallContext;
  readonly recorded: RecordedRequest;
  readonly meter: M;
  /**
   * How much credit to hold, where the key expects less than `boundNanos`. Caps still hold
   * `boundNanos`.
   */
  readonly expectedNanos?: bigint | null;
}

/** How a call uses the response cache. */
export interface CacheUse {
  readonly result: CacheResult;
  /**
   * Takes the settled call and the answer's JSON text for records, which is undefined if the answer
   * is incomplete.
   */
  settled?(call: SettledCall, answerText: string | undefined): void;
}

const notRecorded: BoundPayload = { text: "", truncated: false, media: [] };

/** Nothing is held for calls that cost the account nothing: own vendor keys, stored answers. */
export const nothingHeld: Authorization = { leaseId: null, heldNanos: null, settle() {} };

/**
 * One interaction from its beginning, however many vendor requests it takes. However it ends,
 * `settle` makes exactly one record and one charge; later calls of `settle` only wait for the
 * first.
 */
export class Call<M extends CallMeter = Meter> {
  readonly transactionId: string;
  readonly #deps: CallDeps;
  readonly #caller: CallContext;
  readonly #authorization: Authorization;
  readonly #task: BackgroundTask | undefined;
  readonly #cache: CacheUse | undefined;
  readonly #request: BoundPayload;
  /** No content of the call is recorded, kept for later turns or cached. */
  readonly #isMetadataOnly: boolean;
  readonly #traceId: string | undefined;
  /** What is known when the call begins; recorded if the process dies. */
  readonly begun: SettledCall;
  readonly #leaveStreams: () => void;
  readonly #attempts: VendorAttempt[] = [];
  /** The candidate that is asked now. */
  #candidate: Candidate<M>;
  #plan: RecordedPlan;
  #settling: Promise<void> | undefined;
  #isAnswered = false;
  #answer: RecordedAnswer | undefined;
  #prepared: PreparedAnswer | undefined;

  /**
   * Throws `rate_limit_exceeded` when the account has too many streams under way. What is drained
   * counts as one: its caller can leave and make more of them.
   */
  constructor(
    deps: CallDeps,
    candidate: Candidate<M>,
    { authorization, task, cache }: {
      authorization: Authorization;
      task: BackgroundTask | undefined;
      cache?: CacheUse | undefined;
    },
  ) {
    const { recorded, vendorCall } = candidate;
    this.#deps = deps;
    this.#candidate = candidate;
    this.#authorization = authorization;
    this.#task = task;
    this.#cache = cache;
    this.#caller = vendorCall.caller;
    this.#plan = recorded.plan;
    this.transactionId = vendorCall.transactionId;
    this.#isMetadataOnly = recordModeOf(this.#caller) === "metadata";
    this.#request = this.#isMetadataOnly
      ? notRecorded
      : recorded.payload ?? this.#bound(recorded.bodyText);
    this.#traceId = deps.traceIdOf?.(this.#caller.header("traceparent"));
    this.begun = this.#record();
    const { trace, principal: { account, key } } = this.#caller;
    // A caller without an HTTP request, such as a job, has no times yet.
    trace.times ??= new CallTimes(() => deps.clock.monotonicMs());
    const isCounted = recorded.facts.stream || key.onDisconnect === "drain";
    this.#leaveStreams = isCounted ? deps.streams.enter(account) : () => {};
  }

  /**
   * Writes the call's beginning to the journal, or throws `overloaded`. That of a background call is
   * its stored request, which any process can find.
   */
  async begin(): Promise<this> {
    try {
      if (!this.#task) await this.#deps.journal.begin(this.begun);
    } catch (thrown) {
      this.#leaveStreams();
      throw thrown;
    }
    this.#caller.trace.transactionId = this.transactionId;
    this.#caller.trace.onWait?.(1);
    return this;
  }

  get meter(): M {
    return this.#candidate.meter;
  }

  get costBounds(): CostBounds {
    const { boundNanos, believedNanos } = this.#candidate;
    return { boundNanos, believedNanos };
  }

  get streams(): OpenStreams {
    return this.#deps.streams;
  }

  /**
   * Settles the call. Record, stored response and cached answer are handed over before this
   * returns. Resolves when the call's end survives a crash, or could not be written, and the
   * reservation is released. Never rejects.
   */
  settle(ending: Ending): Promise<void> {
    return this.#settling ??= this.#settle(ending);
  }

  /** Prepares a large answer for its record in steps; settling would do so at once. */
  async prepare(text: string, step: Step, { isCut }: { isCut: boolean }): Promise<void> {
    if (this.#isMetadataOnly) return;
    const retain = isCut ? undefined : this.#candidate.recorded.retain;
    this.#prepared = await prepareAnswer(text, step, { limits: this.#limits(), retain });
  }

  /** The same for the answer of a stream that is over, which is folded first. */
  async prepareEnd(ending: Ending, step: Step): Promise<void> {
    const failed = (thrown: unknown) => this.stepFailed("answer", thrown);
    const made = { meter: this.meter, plan: this.#plan, failed };
    this.#answer = await answerInSteps(ending, made, step);
    const { text, isCut } = this.#answer ?? { isCut: true };
    if (text === undefined) return;
    await this.prepare(text, step, { isCut: isCut || ending.status !== "completed" });
  }

  /** Adds the result of one vendor request. */
  attempted(attempt: VendorAttempt): void {
    this.#attempts.push(attempt);
  }

  /** Sets the error code of the last vendor request, which its status alone may not show. */
  attemptFailed(code: ErrorCode): void {
    const last = this.#attempts.at(-1);
    if (last) last.error_code = code;
  }

  /** Vendor requests so far. */
  get requestsMade(): number {
    return this.#attempts.length;
  }

  /** How many more vendor requests the call may make. */
  get requestsLeft(): number {
    return Math.max(0, maxVendorRequests - this.#attempts.length);
  }

  /**
   * Moves the call to this candidate: the previous try failed before the caller got a byte of its
   * answer.
   */
  moveTo(candidate: Candidate<M>): void {
    this.#candidate = candidate;
    this.#plan = candidate.recorded.plan;
    if (!this.#isAnswered) return;
    this.#isAnswered = false;
    this.#caller.trace.onWait?.(1);
  }

  /** Notes that the request goes to the same vendor in another dialect. */
  reroute(plan: RecordedPlan): void {
    this.#plan = plan;
  }

  /** Counts and logs a settling step that failed elsewhere. */
  stepFailed(step: SettlingStep, thrown: unknown): void {
    this.#deps.settling.note(step, this.transactionId, thrown);
  }

  /** Work for the call begins; see `CallTrace`. */
  noteWork(): void {
    this.#caller.trace.onWork?.();
  }

  /** The vendor has answered: from here on the call no longer waits for it. */
  answered(): void {
    this.noteWork();
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#caller.trace.onWait?.(-1);
  }

  /**
   * Settles in layers: a failing part of the record is left out, and journal, recorder, response
   * cache and observers each get the record whether or not the others failed.
   */
  async #settle(ending: Ending): Promise<void> {
    const { storedResponses, recorder } = this.#deps;
    const task = this.#task;
    this.#try("answered", () => this.answered(), undefined);
    const ended = task ? this.#try("task", () => task.ending(ending), ending) : ending;
    // The task was given back: another process makes the call again.
    if (ended === undefined) return this.#leave(0n);
    const answer = this.#answerOf(ended);
    const interaction = this.#interaction(ended, answer);
    const journaled = this.#journalEnd(interaction);
    this.#run(
      "record",
      () => recorder.record(interaction),
      () => this.#recordBare(interaction),
    );
    if (!task) this.#try("remember", () => storedResponses.remember(interaction), undefined);
    const answerText = answer.isCut || answer.lacksLogprobs ? undefined : answer.text;
    this.#try("cache", () => this.#cache?.settled?.(interaction, answerText), undefined);
    // The reservation is released only once the charge can't be lost any more.
    await journaled;
    // The caller waits for the journal too, so that is part of the call's time.
    this.#try("tell", () => this.#notify(interaction), undefined);
    this.#leave(interaction.chargedNanos);
  }

  #leave(chargedNanos: bigint): void {
    this.#try("authorization", () => this.#authorization.settle(chargedNanos), undefined);
    this.#try("streams", () => this.#leaveStreams(), undefined);
  }

  #recordBare(interaction: SettledCall): void {
    try {
      this.#deps.recorder.record(bareInteraction(interaction));
    } catch (thrown) {
      // The journal has the call; the next start records it.
      this.#deps.settling.note("record", this.transactionId, thrown);
    }
  }

  /** Resolves when the journal has taken or refused the call's end. */
  async #journalEnd(interaction: SettledCall): Promise<void> {
    const { journal, settling, log } = this.#deps;
    try {
      await this.#run("journal", () => journal.end(interaction), () => {
        // A second try without the parts that may not be writable.
        return journal.end(bareInteraction(interaction));
      });
    } catch (thrown) {
      settling.note("journal", this.transactionId, thrown);
      // The disk is full or broken, but the record is in memory and on its way to the store.
      log.error("the end of a call could not be written to the journal", {
        transaction: this.transactionId,
        reason: reasonOf(thrown),
      });
    }
  }

  #try<T>(step: SettlingStep, act: () => T, otherwise: T): T {
    return this.#run(step, act, () => otherwise);
  }

  #run<T>(step: SettlingStep, act: () => T, otherwise: () => T): T {
    return this.#deps.settling.run(step, this.transactionId, act, otherwise);
  }

  /** Warns the operator, who also sees this as a metric. */
  #dispute({ vendor, model, chargedNanos }: SettledCall): void {
    this.#deps.log.warn("a vendor's reported usage or cost was implausible", {
      transaction: this.transactionId,
      vendor,
      model: model.slice(0, 120),
      charged_usd: nanosToUsd(chargedNanos),
    });
  }

  #notify(interaction: SettledCall): void {
    const { trace, arrivedMs } = this.#caller;
    const timing = trace.times!.timing(arrivedMs, this.meter.firstTokenMs);
    trace.timing = timing;
    trace.settled = interaction;
    trace.answerSources = this.#candidate.recorded.answerSources;
    if (interaction.billingBasis === "disputed") this.#dispute(interaction);
    this.#deps.observe?.({
      ...{ call: interaction, timing, arrivedMs, requests: trace.times!.requests },
      responseModel: this.meter.reportedModel,
      traceparent: this.#caller.header("traceparent"),
    });
    trace.onSettled?.(interaction);
  }

  /**
   * The call as it ended. Never throws: a part that fails is replaced by a plainer one and logged.
   */
  #interaction(ending: Ending, answer: RecordedAnswer): SettledCall {
    const payload = this.#try(
      "payload",
      () => this.#payload(answer),
      this.#payloadOf(undefined, true),
    );
    const since = (ms: number) => storableCount(Math.round(ms - this.#caller.arrivedMs));
    const { firstTokenMs } = this.meter;
    const record = this.#run(
      "identity",
      () => this.#record(),
      () => ({ ...this.begun, ...this.#target() }),
    );
    record.status = ending.status;
    record.httpStatus = ending.httpStatus;
    record.errorCode = ending.errorCode ?? answer.errorCode ?? null;
    record.finishReason = this.meter.finishReason ?? null;
    recordBill(record, this.#bill(ending), (act, otherwise) => this.#try("usage", act, otherwise));
    record.latencyMs = since(this.#deps.clock.monotonicMs());
    record.timeToFirstTokenMs = firstTokenMs === undefined ? null : since(firstTokenMs);
    Object.assign(record, payload);
    const { vendorAnswer } = ending.fault ?? {};
    // It may quote the prompt.
    if (vendorAnswer && !this.#isMetadataOnly) record.vendorAnswer = vendorAnswer;
    if (this.#attempts.length > 1) record.attempts = [...this.#attempts];
    const retained = this.#run(
      "kept",
      () => this.#retained(ending, answer.isCut ? undefined : answer.text),
      () => this.#endOnly(ending),
    );
    if (retained) record.retained = retained;
    return record;
  }

  #bill(ending: Ending): Bill {
    const { vendorCall, recorded, boundNanos, believedNanos } = this.#candidate;
    const { promptUsage, body, facts: { serviceTier } } = recorded;
    const { target, mode } = vendorCall;
    const price = this.#try("price", () => this.#price(), vendorCall.price);
    const terms = {
      status: ending.status,
      mode,
      boundNanos,
      believedNanos,
      price,
      priceOf: (model: string) => this.#priceOf(model),
      vendorCostBelieved: chargesReport(target.vendor, price),
      unreportedSearches: unreportedSearches(this.#plan.hosted),
      maxOutputTokens: recorded.maxOutputTokens,
      dearerTier: price && isDearerTier(price, serviceTier) ? serviceTier : undefined,
      countHosted: this.#plan.upstream?.countHosted,
      drawingModel: drawingModel(this.#plan.hosted),
      promptUsage: () =>
        promptUsage ?? this.#run(
          "prompt",
          () => finish(countPrompt(body)),
          () => ({ input: Math.ceil(recorded.bodyText.length / 4) }),
        ),
    };
    return this.#run(
      "bill",
      () => this.meter.bill(terms),
      () => plainBill(this.meter.counted(terms), terms),
    );
  }

  #answerOf({ responseText: text, responseMedia, isTruncated }: Ending): RecordedAnswer {
    if (text !== undefined) return { text, media: responseMedia, isCut: isTruncated === true };
    return this.#answer ?? recordedAnswer(
      this.meter,
      this.#plan,
      (act, otherwise) => this.#run("answer", act, otherwise),
    );
  }

  /**
   * Returns the price that was found before the vendor was asked, since credit is held by it: the
   * vendor's list may drop or reprice the model meanwhile. Where that was a guess, a real price may
   * have come since.
   */
  #price(): PriceRow | undefined {
    const { price, target: { model } } = this.#candidate.vendorCall;
    return price && price.fallback !== true ? price : this.#priceOf(model) ?? price;
  }

  #priceOf(model: string): PriceRow | undefined {
    const { vendor } = this.#candidate.vendorCall.target;
    return this.#deps.prices.find(vendor.label, model, this.#caller.arrivedAt);
  }

  /** Makes the record without the outcome: who called which model, how and when. */
  #record(): SettledCall {
    const { dialect, facts } = this.#candidate.recorded;
    const { leaseId, limitLeaseIds } = this.#authorization;
    const caller = this.#caller;
    const { target: { vendor, model }, mode } = this.#candidate.vendorCall;
    const payload = this.#payloadOf(undefined, false);
    // One literal and assignments: spread together from parts it takes ten times as long (0367).
    const record: SettledCall = {
      transactionId: this.transactionId,
      createdAt: caller.arrivedAt,
      requestId: caller.requestId,
      sessionId: caller.sessionId ?? facts.session ?? null,
      userId: caller.userId ?? facts.endUser ?? null,
      accountId: caller.principal.account.id,
      apiKeyId: caller.principal.key.id,
      app: facts.tags.app ?? caller.principal.key.defaults?.app ?? null,
      flow: facts.tags.flow ?? null,
      cohortId: facts.tags.cohort ?? null,
      endpoint: caller.endpoint,
      dialect: dialect.name,
      vendor: vendor.label,
      model,
      mode,
      requestedModel: facts.model,
      stream: facts.stream,
      priceVersion: this.#price()?.version ?? null,
      translationLoss: [...this.#plan.losses],
      status: "interrupted",
      httpStatus: null,
      errorCode: null,
      finishReason: null,
      inputTokens: null,
      cacheReadTokens: null,
      cacheWriteTokens: null,
      outputTokens: null,
      reasoningTokens: null,
      totalTokens: null,
      costNanos: 0n,
      chargedNanos: 0n,
      billingBasis: "none",
      usageRawText: null,
      latencyMs: 0,
      timeToFirstTokenMs: null,
      requestText: payload.requestText,
      responseText: payload.responseText,
      payloadTruncated: payload.payloadTruncated,
    };
    if (payload.media) record.media = payload.media;
    if (this.#cache) record.cache = this.#cache.result;
    const client = clientOf(caller);
    if (client !== undefined) record.client = client;
    if (this.#traceId !== undefined) record.traceId = this.#traceId;
    if (leaseId !== null) record.leaseId = leaseId;
    if (limitLeaseIds) record.limitLeaseIds = limitLeaseIds;
    if (caller.sourceCallIds) record.sourceCallIds = caller.sourceCallIds;
    // Without a stored answer there is nothing to replay, so a repeated request is a new call.
    if (caller.trace.repeat && !this.#isMetadataOnly) record.repeat = caller.trace.repeat;
    if (this.#isMetadataOnly) record.recording = "metadata";
    return record;
  }

  #target(): Pick<SettledCall, "vendor" | "model" | "mode"> {
    const { target: { vendor, model }, mode } = this.#candidate.vendorCall;
    return { vendor: vendor.label, model, mode };
  }

  /** Returns only how a background call ended; undefined for other calls. */
  #endOnly(ending: Ending): SettledCall["retained"] {
    const task = this.#task;
    return task && { reasoning: [], background: task.end(ending, undefined) };
  }

  /** Returns what is stored for later turns: only a completed answer can be continued. */
  #retained(ending: Ending, responseText: string | undefined): SettledCall["retained"] {
    const task = this.#task;
    if (ending.status !== "completed" || this.#isMetadataOnly) return this.#endOnly(ending);
    const { meter } = this;
    const reasoning = meter.answer ? this.#plan.retainedReasoning?.(meter.answer()) ?? [] : [];
    const response = responseText === undefined ? undefined : this.#stored(responseText);
    const background = task?.end(ending, response?.answerText);
    if (reasoning.length === 0 && !response && !background) return undefined;
    return {
      reasoning,
      ...(response ? { response } : {}),
      ...(background ? { background } : {}),
    };
  }

  #stored(text: string): StoredResponseFields | undefined {
    const stored = this.#preparedFor(text)?.stored;
    const { retain } = this.#candidate.recorded;
    return stored ? stored.response : retain && finish(retain(text));
  }

  #preparedFor(text: string): PreparedAnswer | undefined {
    return this.#prepared?.text === text ? this.#prepared : undefined;
  }

  #payload({ text, media = [], isCut, lacksLogprobs }: RecordedAnswer): Payload {
    if (text === undefined || this.#isMetadataOnly) return this.#payloadOf(undefined, isCut);
    const bound = this.#bound(text);
    const response = { ...bound, media: [...bound.media, ...media] };
    return this.#payloadOf(response, isCut || lacksLogprobs === true);
  }

  #payloadOf(response: BoundPayload | undefined, isCut: boolean): Payload {
    const request = this.#request;
    if (this.#isMetadataOnly) {
      return { requestText: null, responseText: null, payloadTruncated: false };
    }
    const { bodyMedia = [] } = this.#candidate.recorded;
    const payload: Payload = {
      requestText: request.text,
      responseText: response?.text ?? null,
      payloadTruncated: request.truncated || response?.truncated === true || isCut,
    };
    const media = [...bodyMedia, ...request.media, ...response?.media ?? []];
    if (media.length > 0) payload.media = media;
    return payload;
  }

  #bound(text: string): BoundPayload {
    return this.#preparedFor(text)?.payload ?? boundPayload(text, this.#limits());
  }

  #limits(): PayloadLimits {
    return payloadLimits(this.#deps, this.#candidate.recorded.dialect);
  }
}
