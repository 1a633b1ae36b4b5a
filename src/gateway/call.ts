import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { ErrorCode } from "../../contracts/errors.ts";
import type { RequestFacts } from "../dialects/dialect.ts";
import type { MediaField } from "../dialects/media_field.ts";
import { promptText } from "../dialects/prompt_text.ts";
import { nanosToUsd } from "../base/money.ts";
import { estimateTokens } from "../domain/estimate.ts";
import type { Interaction, InteractionStatus, Mode, VendorAttempt } from "../domain/interaction.ts";
import type { Kept } from "../domain/kept.ts";
import type { Media } from "../domain/media.ts";
import { messageOf } from "../domain/fault.ts";
import { storableCount } from "../domain/plausible.ts";
import type { PriceRow } from "../domain/pricing.ts";
import { pricedUsageText } from "../domain/repricing.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { Prices } from "../vendors/prices.ts";
import type { Caller } from "./caller.ts";
import type { Funds } from "./funds.ts";
import type { Bill, CallMeter, Meter } from "./meter.ts";
import { type BoundPayload, boundPayload, payloadLimits } from "./payload.ts";
import type { Keeper } from "./conversation.ts";
import type { KeptMemory } from "./kept_memory.ts";
import type { Lane } from "./lane.ts";
import type { OpenStreams } from "./open_streams.ts";
import type { Recorder } from "./recorder.ts";

/** How a call ended. */
export interface Ending {
  status: InteractionStatus;
  /** What the caller received; null when it left before an answer began. */
  httpStatus: number | null;
  errorCode?: ErrorCode;
  /** JSON text as the caller received it; the fold of what was streamed when absent. */
  responseText?: string;
  /** Of `responseText`: more was said than it holds. */
  isTruncated?: boolean;
}

/** How records name a wire format, and where media stands in its texts. */
export interface RecordedForm {
  readonly name: string;
  readonly mediaFields: readonly MediaField[];
}

/** What a call is made of, before it begins. */
export interface CallFacts {
  transactionId: string;
  caller: Caller;
  dialect: RecordedForm;
  facts: Pick<RequestFacts, "model" | "stream" | "endUser" | "tags">;
  target: ResolvedModel;
  mode: Mode;
  lane: Pick<Lane, "losses" | "encodeFolded" | "keptReasoning">;
  body: unknown;
  /** Tokens of its words, where they were counted before the body was let go. */
  promptTokens?: number | undefined;
  /** JSON text for the record; as the caller sent it where it sent JSON. */
  bodyText: string;
  /** The same as it is recorded, where that is known. */
  payload?: BoundPayload;
  /** Media that `bodyText` names by hash. */
  bodyMedia?: readonly Media[];
  /** Makes what is kept of the answer for whoever continues it; undefined: nothing. */
  kept: Keeper | undefined;
  funds: Funds;
}

/** Where calls are noted so that a crash loses none; implemented in `src/store/journal.ts`. */
export interface CallJournal {
  /** Throws `overloaded` when no more is taken. */
  begin(interaction: Interaction): void;
  /** Resolves when the end survives a crash. */
  end(interaction: Interaction): Promise<void>;
}

/** What every call uses. */
export interface CallParts {
  clock: Clock;
  prices: Prices;
  recorder: Recorder;
  journal: CallJournal;
  kept: KeptMemory;
  streams: OpenStreams;
  payloadMaxBytes: number;
  mediaInlineBytes: number;
  log: Log;
}

/**
 * One call to a vendor, from the moment it begins. Whatever way it ends, `settle` turns it into
 * exactly one record and one charge; later calls of `settle` only wait for the first.
 */
export class Call<M extends CallMeter = Meter> {
  readonly transactionId: string;
  readonly meter: M;
  readonly #parts: CallParts;
  readonly #facts: CallFacts;
  readonly #request: BoundPayload;
  readonly #leaveStreams: () => void;
  readonly #attempts: VendorAttempt[] = [];
  #lane: CallFacts["lane"];
  #settling: Promise<void> | undefined;
  #isAnswered = false;

  /**
   * Notes that the call begins. Throws `overloaded` when the journal is full, and
   * `rate_limit_exceeded` when its account has too many streams under way.
   */
  constructor(parts: CallParts, facts: CallFacts, meter: M) {
    this.#parts = parts;
    this.#facts = facts;
    this.#lane = facts.lane;
    this.transactionId = facts.transactionId;
    this.meter = meter;
    this.#request = facts.payload ?? this.#bound(facts.bodyText);
    const { account } = facts.caller.principal;
    this.#leaveStreams = facts.facts.stream ? parts.streams.enter(account) : () => {};
    try {
      parts.journal.begin(this.#begun());
    } catch (thrown) {
      this.#leaveStreams();
      throw thrown;
    }
    facts.caller.trace.transactionId = this.transactionId;
    facts.caller.trace.waits?.(1);
  }

  get setAsideNanos(): bigint | null {
    return this.#facts.funds.setAsideNanos;
  }

  get streams(): OpenStreams {
    return this.#parts.streams;
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

  /** The vendor is asked once more, in another dialect. */
  reroute(lane: CallFacts["lane"]): void {
    this.#lane = lane;
  }

  /** Work for the call begins; see `CallTrace`. */
  working(): void {
    this.#facts.caller.trace.working?.();
  }

  /** The vendor's answer is there: the rest is ours. */
  answered(): void {
    this.working();
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#facts.caller.trace.waits?.(-1);
  }

  async #settle(ending: Ending): Promise<void> {
    this.answered();
    const { journal, kept, recorder, log } = this.#parts;
    let chargedNanos = 0n;
    try {
      const interaction = this.#interaction(ending);
      chargedNanos = interaction.chargedNanos;
      const noted = journal.end(interaction);
      kept.remember(interaction);
      recorder.record(interaction);
      this.#tell(interaction);
      if (interaction.billingBasis === "disputed") this.#dispute(interaction);
      // What is reserved is free for others only once the charge can't be lost any more.
      await noted;
    } catch (thrown) {
      // The disk is full or broken: the record is in memory and on its way to the store.
      log.error("the end of a call could not be noted", {
        transaction: this.transactionId,
        reason: messageOf(thrown),
      });
    } finally {
      this.#facts.funds.settle(chargedNanos);
      this.#leaveStreams();
    }
  }

  /** The operator is to look into it: by the log, and by the measure of the same name. */
  #dispute({ vendor, model, chargedNanos }: Interaction): void {
    this.#parts.log.warn("a vendor's report was not believed", {
      transaction: this.transactionId,
      vendor,
      model: model.slice(0, 120),
      charged_usd: nanosToUsd(chargedNanos),
    });
  }

  #tell(interaction: Interaction): void {
    const { trace } = this.#facts.caller;
    trace.settled = interaction;
    trace.onSettled?.(interaction);
  }

  /** What is known of the call as it begins; stands for it should the process die. */
  #begun(): Interaction {
    const nothing = {
      ...{ usage: undefined, basis: "none", costNanos: 0n, chargedNanos: 0n } as const,
      listCostNanos: null,
    };
    return {
      ...this.#identity(),
      status: "interrupted",
      httpStatus: null,
      errorCode: null,
      finishReason: null,
      ...tokenColumns(nothing),
      latencyMs: 0,
      timeToFirstTokenMs: null,
      ...this.#payload(undefined, false),
    };
  }

  #interaction(ending: Ending): Interaction {
    const { caller, target, mode } = this.#facts;
    const nowMs = this.#parts.clock.monotonicMs();
    const bill = this.meter.bill({
      status: ending.status,
      mode,
      setAsideNanos: this.#facts.funds.setAsideNanos,
      price: this.#price(),
      priceOf: (model) => this.#price(model),
      vendorCostBelieved: target.vendor.reportsCost,
      promptTokens: () => this.#facts.promptTokens ?? estimateTokens(promptText(this.#facts.body)),
    });
    const folded = ending.responseText === undefined ? this.#folded() : undefined;
    const responseText = ending.responseText ?? folded?.text;
    const isCut = folded?.truncated === true || ending.isTruncated === true;
    const payload = this.#payload(responseText, isCut);
    const firstTokenMs = this.meter.firstTokenMs;
    return {
      ...this.#identity(),
      status: ending.status,
      httpStatus: ending.httpStatus,
      errorCode: ending.errorCode ?? null,
      finishReason: this.meter.finishReason ?? null,
      ...tokenColumns(bill),
      latencyMs: Math.round(nowMs - caller.arrivedMs),
      timeToFirstTokenMs: firstTokenMs === undefined
        ? null
        : Math.round(firstTokenMs - caller.arrivedMs),
      ...payload,
      ...(this.#attempts.length > 1 ? { attempts: [...this.#attempts] } : {}),
      ...this.#kept(ending, folded?.truncated ? undefined : responseText),
    };
  }

  #price(model = this.#facts.target.model): PriceRow | undefined {
    const { caller, target } = this.#facts;
    return this.#parts.prices.find(target.vendor.label, model, caller.arrivedAt);
  }

  /** What doesn't change while the call runs. */
  #identity() {
    const { caller, dialect, facts, target, mode, funds } = this.#facts;
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
      vendor: target.vendor.label,
      model: target.model,
      requestedModel: facts.model,
      mode,
      stream: facts.stream,
      priceVersion: this.#price()?.version ?? null,
      translationLoss: [...this.#lane.losses],
      ...(funds.leaseId === null ? {} : { leaseId: funds.leaseId }),
      ...(caller.repeats ? { repeats: caller.repeats } : {}),
    };
  }

  /** Only an answer that ended well is continued. */
  #kept(ending: Ending, responseText: string | undefined): { kept?: Kept } {
    if (ending.status !== "completed") return {};
    const reasoning = this.#lane.keptReasoning(this.meter.answer());
    const response = responseText === undefined ? undefined : this.#facts.kept?.(responseText);
    if (reasoning.length === 0 && !response) return {};
    return { kept: { reasoning, ...(response ? { response } : {}) } };
  }

  #payload(
    response: string | undefined,
    alreadyTruncated: boolean,
  ): Pick<Interaction, "requestText" | "responseText" | "payloadTruncated" | "media"> {
    const request = this.#request;
    const bound = response === undefined ? undefined : this.#bound(response);
    const media = [...this.#facts.bodyMedia ?? [], ...request.media, ...bound?.media ?? []];
    return {
      requestText: request.text,
      responseText: bound?.text ?? null,
      payloadTruncated: request.truncated || bound?.truncated === true || alreadyTruncated,
      ...(media.length > 0 ? { media } : {}),
    };
  }

  #bound(text: string): BoundPayload {
    return boundPayload(text, payloadLimits(this.#parts, this.#facts.dialect));
  }

  /** A streamed answer as its folded whole; nothing when nothing came. */
  #folded(): { text: string; truncated: boolean } | undefined {
    const answer = this.meter.answer();
    if (answer.choices.length === 0) return undefined;
    return {
      text: JSON.stringify(this.#lane.encodeFolded(answer)),
      truncated: answer.truncated,
    };
  }
}

function tokenColumns(bill: Bill) {
  const usage = bill.usage;
  const count = (given: number | undefined) => given === undefined ? null : storableCount(given);
  const written = usage?.cacheWrite === undefined && usage?.cacheWriteLong === undefined
    ? undefined
    : (usage.cacheWrite ?? 0) + (usage.cacheWriteLong ?? 0);
  return {
    inputTokens: count(usage?.input),
    cacheReadTokens: count(usage?.cacheRead),
    cacheWriteTokens: count(written),
    outputTokens: count(usage?.output),
    reasoningTokens: count(usage?.reasoning),
    totalTokens: count(usage && usage.input + usage.output),
    costNanos: bill.costNanos,
    chargedNanos: bill.chargedNanos,
    billingBasis: bill.basis,
    usageRawText: usage?.raw === undefined ? null : JSON.stringify(usage.raw),
    ...(usage ? { pricedUsageText: pricedUsageText(usage) } : {}),
    ...(bill.listCostNanos === null ? {} : { listCostUsd: nanosToUsd(bill.listCostNanos) }),
  };
}
