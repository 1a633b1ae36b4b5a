import { type Bill, type CallMeter, type Meter, plainBill, tokenColumns } from "./meter.ts";
import { promptText } from "../dialects/kernel/prompt_text.ts";
import { nanosToUsd } from "../base/money.ts";
import { estimateTokens } from "../shared/token_estimate.ts";
import {
  bareInteraction,
  type InteractionStatus,
  type SettledCall,
  type VendorAttempt,
} from "../shared/interaction.ts";
import { type Fault, messageOf } from "../shared/fault.ts";
import { storableCount } from "../pricing/plausible.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import type { VendorCallContext } from "./vendor_call.ts";
import type { Authorization } from "./pipeline.ts";
import type { BackgroundTask } from "./background_task.ts";
import type { CallContext } from "./call_context.ts";
import { type BoundPayload, boundPayload, payloadLimits } from "../records/payload.ts";
import { unreportedSearches } from "./plan/hosted_work.ts";
import type { OpenStreams } from "./open_streams.ts";
import type { SettlingStep, Tries } from "./settling_steps.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import type { AnswerPart, CanonicalAnswer } from "../dialects/kernel/canonical.ts";
import type { RequestFacts } from "../dialects/kernel/dialect.ts";
import type { HostedWork } from "../dialects/kernel/hosted.ts";
import type { MediaField } from "../dialects/kernel/media_field.ts";
import type { Media } from "../shared/media.ts";
import type { RetainedReasoning } from "../shared/stored_response.ts";
import type { Prices } from "../pricing/table/prices.ts";
import type { Retainer } from "./conversation/conversation.ts";
import type { StoredResponseCache } from "./conversation/stored_response_cache.ts";
import type { Recorder } from "../records/recorder.ts";
import { mendJson } from "../base/mend_json.ts";
import { innerJson, isRecord } from "../dialects/kernel/json.ts";

/** What doesn't change while a call runs. */
type Identity = Omit<SettledCall, keyof Payload | keyof ReturnType<typeof tokenColumns> | Ended>;
type Ended =
  | ("status" | "httpStatus" | "errorCode" | "finishReason" | "latencyMs" | "timeToFirstTokenMs")
  | "retained";
type Payload = Pick<
  SettledCall,
  "requestText" | "responseText" | "payloadTruncated" | "media"
>;

/** A vendor that may answer a call, and what the call's record says if it does. */
export interface Candidate<M extends CallMeter> {
  readonly vendorCall: VendorCallContext;
  readonly recorded: RecordedRequest;
  readonly meter: M;
  /** The most that it can cost, in nano-dollars; null where the account is charged nothing. */
  readonly boundNanos: bigint | null;
}

/**
 * One interaction, from the moment it begins, however many vendor requests it takes. Whatever way
 * it ends, `settle` turns it into exactly one record and one charge; later calls of `settle` only
 * wait for the first.
 */
export class Call<M extends CallMeter = Meter> {
  readonly transactionId: string;
  readonly #deps: CallDeps;
  readonly #caller: CallContext;
  readonly #authorization: Authorization;
  readonly #task: BackgroundTask | undefined;
  readonly #request: BoundPayload;
  /** `#identity` as it was then. */
  readonly #asBegun: Identity;
  readonly #leaveStreams: () => void;
  readonly #attempts: VendorAttempt[] = [];
  /** The one that is asked now; it answers, or it was the last. */
  #candidate: Candidate<M>;
  #plan: RecordedPlan;
  #settling: Promise<void> | undefined;
  #isAnswered = false;

  /**
   * Notes that the call begins. Throws `overloaded` when the journal is full, and
   * `rate_limit_exceeded` when its account has too many streams under way. A call with a `task` goes
   * on without its caller: where the task is stored stands for it until it ends, in place of a
   * beginning in the journal, and it is found there, by whatever process.
   */
  constructor(
    deps: CallDeps,
    candidate: Candidate<M>,
    { authorization, task }: { authorization: Authorization; task: BackgroundTask | undefined },
  ) {
    const { recorded, vendorCall } = candidate;
    this.#deps = deps;
    this.#candidate = candidate;
    this.#authorization = authorization;
    this.#task = task;
    this.#caller = vendorCall.caller;
    this.#plan = recorded.plan;
    this.transactionId = vendorCall.transactionId;
    this.#request = recorded.payload ?? this.#bound(recorded.bodyText);
    this.#asBegun = this.#identity();
    const { trace, principal: { account } } = this.#caller;
    this.#leaveStreams = recorded.facts.stream ? deps.streams.enter(account) : () => {};
    try {
      if (!task) deps.journal.begin(this.begun());
    } catch (thrown) {
      this.#leaveStreams();
      throw thrown;
    }
    trace.transactionId = this.transactionId;
    trace.waits?.(1);
  }

  get meter(): M {
    return this.#candidate.meter;
  }

  get boundNanos(): bigint | null {
    return this.#candidate.boundNanos;
  }

  get streams(): OpenStreams {
    return this.#deps.streams;
  }

  /**
   * Resolves when the call's end survives a crash; never rejects. All else has happened when it
   * returns.
   */
  settle(ending: Ending): Promise<void> {
    return this.#settling ??= this.#settle(ending);
  }

  /** A request to the vendor came to this. */
  attempted(attempt: VendorAttempt): void {
    this.#attempts.push(attempt);
  }

  /** Who was asked failed before the caller had anything of it: from here on it is this one's call. */
  goOn(candidate: Candidate<M>): void {
    this.#candidate = candidate;
    this.#plan = candidate.recorded.plan;
    if (!this.#isAnswered) return;
    this.#isAnswered = false;
    this.#caller.trace.waits?.(1);
  }

  /** The request goes to the same vendor in another form. */
  reroute(plan: RecordedPlan): void {
    this.#plan = plan;
  }

  /** A step of turning the answer into its record failed elsewhere. */
  stepFailed(step: SettlingStep, thrown: unknown): void {
    this.#deps.tries.note(step, this.transactionId, thrown);
  }

  /** Work for the call begins; see `CallTrace`. */
  working(): void {
    this.#caller.trace.working?.();
  }

  /** The vendor's answer is there: the rest is ours. */
  answered(): void {
    this.working();
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#caller.trace.waits?.(-1);
  }

  /**
   * In layers: the record is made of what is known, whatever of it fails, and journal, recorder,
   * response cache and observers each get it, whatever became of the others.
   */
  async #settle(ending: Ending): Promise<void> {
    const { storedResponses, recorder } = this.#deps;
    const task = this.#task;
    this.#try("answered", () => this.answered(), undefined);
    const ended = task ? this.#try("task", () => task.ending(ending), ending) : ending;
    // Given back: another process makes the call again.
    if (ended === undefined) return this.#leave(0n);
    const interaction = this.#interaction(ended);
    const noted = this.#note(interaction);
    this.#attempt(
      "record",
      () => recorder.record(interaction),
      () => this.#recordBare(interaction),
    );
    if (!task) this.#try("remember", () => storedResponses.remember(interaction), undefined);
    this.#try("tell", () => this.#notify(interaction), undefined);
    // What is reserved is free for others only once the charge can't be lost any more.
    await noted;
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
      // The journal has it, for the next start.
      this.#deps.tries.note("record", this.transactionId, thrown);
    }
  }

  /** Resolves when the journal has the call's end, or has refused it. */
  async #note(interaction: SettledCall): Promise<void> {
    const { journal, tries, log } = this.#deps;
    try {
      await this.#attempt("journal", () => journal.end(interaction), () => {
        // Without what could not be written.
        return journal.end(bareInteraction(interaction));
      });
    } catch (thrown) {
      tries.note("journal", this.transactionId, thrown);
      // The disk is full or broken: the record is in memory and on its way to the store.
      log.error("the end of a call could not be noted", {
        transaction: this.transactionId,
        reason: messageOf(thrown),
      });
    }
  }

  #try<T>(step: SettlingStep, act: () => T, otherwise: T): T {
    return this.#attempt(step, act, () => otherwise);
  }

  #attempt<T>(step: SettlingStep, act: () => T, otherwise: () => T): T {
    return this.#deps.tries.attempt(step, this.transactionId, act, otherwise);
  }

  /** The operator is to look into it: by the log, and by the measure of the same name. */
  #dispute({ vendor, model, chargedNanos }: SettledCall): void {
    this.#deps.log.warn("a vendor's report was not believed", {
      transaction: this.transactionId,
      vendor,
      model: model.slice(0, 120),
      charged_usd: nanosToUsd(chargedNanos),
    });
  }

  #notify(interaction: SettledCall): void {
    const { trace } = this.#caller;
    trace.settled = interaction;
    if (interaction.billingBasis === "disputed") this.#dispute(interaction);
    trace.onSettled?.(interaction);
  }

  /** What is known of the call as it begins; stands for it should the process die. */
  begun(): SettledCall {
    const nothing = {
      ...{ usage: undefined, basis: "none", costNanos: 0n, chargedNanos: 0n } as const,
      listCostNanos: null,
    };
    return {
      ...this.#asBegun,
      status: "interrupted",
      httpStatus: null,
      errorCode: null,
      finishReason: null,
      ...tokenColumns(nothing, (act) => act()),
      latencyMs: 0,
      timeToFirstTokenMs: null,
      ...this.#payloadOf(undefined, false),
    };
  }

  /** The call as it ended. Never throws: of what fails it holds the plainer form, and says so. */
  #interaction(ending: Ending): SettledCall {
    const answer = this.#answerOf(ending);
    const payload = this.#try(
      "payload",
      () => this.#payload(answer.text, answer.isCut),
      this.#payloadOf(undefined, true),
    );
    const since = (ms: number) => storableCount(Math.round(ms - this.#caller.arrivedMs));
    const { firstTokenMs } = this.meter;
    return {
      ...this.#try("identity", () => this.#identity(), { ...this.#asBegun, ...this.#target() }),
      status: ending.status,
      httpStatus: ending.httpStatus,
      errorCode: ending.errorCode ?? answer.errorCode ?? null,
      finishReason: this.meter.finishReason ?? null,
      ...tokenColumns(this.#bill(ending), (act, otherwise) => this.#try("usage", act, otherwise)),
      latencyMs: since(this.#deps.clock.monotonicMs()),
      timeToFirstTokenMs: firstTokenMs === undefined ? null : since(firstTokenMs),
      ...payload,
      ...(this.#attempts.length > 1 ? { attempts: [...this.#attempts] } : {}),
      ...this.#attempt(
        "kept",
        () => this.#retained(ending, answer.isCut ? undefined : answer.text),
        () => this.#endOnly(ending),
      ),
    };
  }

  #bill(ending: Ending): Bill {
    const { vendorCall, recorded, boundNanos } = this.#candidate;
    const { promptTokens, body } = recorded;
    const { target, mode } = vendorCall;
    const price = this.#try("price", () => this.#price(), vendorCall.price);
    const terms = {
      status: ending.status,
      mode,
      boundNanos,
      price,
      priceOf: (model: string) => this.#price(model),
      vendorCostBelieved: target.vendor.reportsCost,
      unreportedSearches: unreportedSearches(this.#plan.hosted),
      promptTokens: () =>
        promptTokens ?? this.#attempt(
          "prompt",
          () => estimateTokens(promptText(body)),
          () => Math.ceil(recorded.bodyText.length / 4),
        ),
    };
    return this.#attempt(
      "bill",
      () => this.meter.bill(terms),
      () => plainBill(this.meter.counted(terms.promptTokens), terms),
    );
  }

  #answerOf({ responseText: text, isTruncated: isCut = false }: Ending): RecordedAnswer {
    if (text !== undefined) return { text, isCut };
    const { meter } = this;
    const plan = this.#plan;
    if (!meter.answer || !plan.encodeFolded) return { isCut: false };
    return recordedAnswer(
      () => meter.answer!(),
      (answer) => plan.encodeFolded!(answer),
      (act, otherwise) => this.#attempt("answer", act, otherwise),
    );
  }

  #price(model = this.#candidate.vendorCall.target.model): PriceRow | undefined {
    const { vendor } = this.#candidate.vendorCall.target;
    return this.#deps.prices.find(vendor.label, model, this.#caller.arrivedAt);
  }

  /** What doesn't change while the call runs. */
  #identity(): Identity {
    const { dialect, facts } = this.#candidate.recorded;
    const { leaseId } = this.#authorization;
    const caller = this.#caller;
    return {
      transactionId: this.transactionId,
      createdAt: caller.arrivedAt,
      requestId: caller.requestId,
      sessionId: caller.sessionId ?? null,
      userId: caller.userId ?? facts.endUser ?? null,
      accountId: caller.principal.account.id,
      apiKeyId: caller.principal.key.id,
      app: facts.tags.app ?? null,
      flow: facts.tags.flow ?? null,
      cohortId: facts.tags.cohort ?? null,
      endpoint: caller.endpoint,
      dialect: dialect.name,
      ...this.#target(),
      requestedModel: facts.model,
      stream: facts.stream,
      priceVersion: this.#price()?.version ?? null,
      translationLoss: [...this.#plan.losses],
      ...(leaseId === null ? {} : { leaseId }),
      ...(caller.sourceIds ? { sourceCallIds: caller.sourceIds } : {}),
      ...(caller.trace.repeat ? { repeat: caller.trace.repeat } : {}),
    };
  }

  #target(): Pick<SettledCall, "vendor" | "model" | "mode"> {
    const { target: { vendor, model }, mode } = this.#candidate.vendorCall;
    return { vendor: vendor.label, model, mode };
  }

  /** Nothing, but for how a background call ended. */
  #endOnly(ending: Ending): Pick<SettledCall, "retained"> {
    const task = this.#task;
    return task ? { retained: { reasoning: [], background: task.end(ending, undefined) } } : {};
  }

  /** Only an answer that ended well is continued. */
  #retained(ending: Ending, responseText: string | undefined): Pick<SettledCall, "retained"> {
    const task = this.#task;
    if (ending.status !== "completed") return this.#endOnly(ending);
    const { meter } = this;
    const reasoning = meter.answer ? this.#plan.retainedReasoning?.(meter.answer()) ?? [] : [];
    const response = responseText === undefined
      ? undefined
      : this.#candidate.recorded.retain?.(responseText);
    const background = task?.end(ending, response?.answerText);
    if (reasoning.length === 0 && !response && !background) return {};
    return {
      retained: {
        reasoning,
        ...(response ? { response } : {}),
        ...(background ? { background } : {}),
      },
    };
  }

  #payload(response: string | undefined, isCut: boolean): Payload {
    return this.#payloadOf(response === undefined ? undefined : this.#bound(response), isCut);
  }

  #payloadOf(response: BoundPayload | undefined, isCut: boolean): Payload {
    const request = this.#request;
    const media = [
      ...this.#candidate.recorded.bodyMedia ?? [],
      ...request.media,
      ...response?.media ?? [],
    ];
    return {
      requestText: request.text,
      responseText: response?.text ?? null,
      payloadTruncated: request.truncated || response?.truncated === true || isCut,
      ...(media.length > 0 ? { media } : {}),
    };
  }

  #bound(text: string): BoundPayload {
    return boundPayload(text, payloadLimits(this.#deps, this.#candidate.recorded.dialect));
  }
}

/** How a call ended. */
export interface Ending {
  status: InteractionStatus;
  /** What the caller received; null when it left before an answer began. */
  httpStatus: number | null;
  errorCode?: ErrorCode;
  /** What the caller got as an error, or would have. */
  fault?: Fault;
  /** JSON text as the caller received it; the fold of what was streamed when absent. */
  responseText?: string;
  /** `responseText` is not the whole answer. */
  isTruncated?: boolean;
}

/** How records name a wire format, and where media stands in its texts. */
export interface RecordedForm {
  readonly name: string;
  readonly mediaFields: readonly MediaField[];
}

/** What a call's record holds of its request, and how it holds the answer. */
export interface RecordedRequest {
  dialect: RecordedForm;
  facts: Pick<RequestFacts, "model" | "stream" | "endUser" | "tags">;
  plan: RecordedPlan;
  /** Its words are counted where the vendor doesn't count them; absent where no words are billed. */
  body?: unknown;
  /** Tokens of its words, where they were counted before the body was let go. */
  promptTokens?: number | undefined;
  /** JSON text for the record; as the caller sent it where it sent JSON. */
  bodyText: string;
  /** The same as it is recorded, where it has been made already. */
  payload?: BoundPayload;
  /** Media that `bodyText` names by hash. */
  bodyMedia?: readonly Media[];
  /** Makes what is stored of the answer for whoever continues it; absent: nothing is. */
  retain?: Retainer | undefined;
}

/** What a record says of how the request went to its vendor, and of a streamed answer. */
export interface RecordedPlan {
  /** Paths of what could not be carried, in the caller's words. */
  readonly losses: readonly string[];
  readonly hosted?: HostedWork;
  /** The folded answer in the caller's dialect; absent where the answer comes with its text. */
  encodeFolded?(answer: CanonicalAnswer): unknown;
  /** What the next turn's vendor will need back of the answer. */
  retainedReasoning?(answer: CanonicalAnswer): RetainedReasoning[];
}

/** Where calls are noted so that a crash loses none; implemented in `src/records/journal/journal.ts`. */
export interface CallJournal {
  /** Throws `overloaded` when no more is taken. */
  begin(interaction: SettledCall): void;
  /** Resolves when the end survives a crash. */
  end(interaction: SettledCall): Promise<void>;
}

/** What every call uses. */
export interface CallDeps {
  clock: Clock;
  prices: Prices;
  recorder: Recorder;
  journal: CallJournal;
  storedResponses: StoredResponseCache;
  streams: OpenStreams;
  payloadMaxBytes: number;
  mediaInlineBytes: number;
  log: Log;
  tries: Tries;
}

/** A streamed answer's text for the record. */
interface RecordedAnswer {
  text?: string;
  /** The text is not the whole answer. */
  isCut: boolean;
  /** It has no form in its caller's dialect as it was. */
  errorCode?: ErrorCode;
}

type Encode = (answer: CanonicalAnswer) => unknown;
type Attempt = <T>(act: () => T, otherwise: () => T) => T;

/**
 * The folded whole of what was streamed. What has no form in the caller's dialect is mended: of
 * calls whose arguments broke off, or never were an object, stays what can be read. Throws nothing
 * that `attempt` catches.
 */
function recordedAnswer(
  fold: () => CanonicalAnswer,
  encode: Encode,
  attempt: Attempt,
): RecordedAnswer {
  const failed = { errorCode: "upstream_invalid_response" } as const;
  return attempt<RecordedAnswer>(
    () => written(fold(), encode),
    () =>
      attempt<RecordedAnswer>(
        () => ({ ...written(mendedAnswer(fold()), encode), ...failed, isCut: true }),
        () => ({ ...failed, isCut: true }),
      ),
  );
}

function written(answer: CanonicalAnswer, encode: Encode): RecordedAnswer {
  if (answer.choices.length === 0) return { isCut: false };
  return { text: JSON.stringify(encode(answer)), isCut: answer.truncated };
}

function mendedAnswer(answer: CanonicalAnswer): CanonicalAnswer {
  const choices = answer.choices.map((choice) => ({ ...choice, parts: choice.parts.map(mended) }));
  return { ...answer, choices };
}

function mended(part: AnswerPart): AnswerPart {
  if (part.kind !== "tool-call" || isRecord(innerJson(part.text))) return part;
  for (const value of mendJson(part.text)) {
    if (isRecord(value)) return { ...part, text: JSON.stringify(value) };
  }
  return { ...part, text: part.text === "" ? "{}" : JSON.stringify({ unreadable: part.text }) };
}
