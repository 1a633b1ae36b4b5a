import type { Clock } from "../base/clock.ts";
import type { ErrorCode } from "../../contracts/errors.ts";
import type { Dialect, RequestFacts } from "../dialects/dialect.ts";
import { promptText } from "../dialects/prompt_text.ts";
import { estimateTokens } from "../domain/estimate.ts";
import type { Interaction, InteractionStatus, Mode } from "../domain/interaction.ts";
import type { Kept } from "../domain/kept.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { Prices } from "../vendors/prices.ts";
import type { Caller } from "./caller.ts";
import { type Bill, Meter } from "./meter.ts";
import { capPayload } from "./payload.ts";
import type { Keeper } from "./conversation.ts";
import type { KeptMemory } from "./kept_memory.ts";
import type { Lane } from "./lane.ts";
import type { Recorder } from "./recorder.ts";

/** How a call ended. */
export interface Ending {
  status: InteractionStatus;
  /** What the caller received; null when it left before an answer began. */
  httpStatus: number | null;
  errorCode?: ErrorCode;
  /** JSON text as the caller received it; the fold of what was streamed when absent. */
  responseText?: string;
}

/** What a call is made of, before it begins. */
export interface CallFacts {
  transactionId: string;
  caller: Caller;
  dialect: Dialect;
  facts: RequestFacts;
  target: ResolvedModel;
  mode: Mode;
  lane: Lane;
  body: unknown;
  bodyText: string;
  /** Makes what is kept of the answer for whoever continues it; undefined: nothing. */
  kept: Keeper | undefined;
}

/** What every call uses. */
export interface CallParts {
  clock: Clock;
  prices: Prices;
  recorder: Recorder;
  kept: KeptMemory;
  payloadMaxBytes: number;
}

/**
 * One call to a vendor, from the moment it begins. Whatever way it ends, `settle` turns it into
 * exactly one record and one charge; later calls of `settle` do nothing.
 */
export class Call {
  readonly transactionId: string;
  readonly meter: Meter;
  readonly #parts: CallParts;
  readonly #facts: CallFacts;
  #settled = false;

  constructor(parts: CallParts, facts: CallFacts) {
    this.#parts = parts;
    this.#facts = facts;
    this.transactionId = facts.transactionId;
    this.meter = new Meter(parts.payloadMaxBytes, () => parts.clock.monotonicMs());
    facts.caller.trace.transactionId = this.transactionId;
  }

  get settled(): boolean {
    return this.#settled;
  }

  settle(ending: Ending): void {
    if (this.#settled) return;
    this.#settled = true;
    const interaction = this.#interaction(ending);
    if (interaction.kept) this.#parts.kept.remember(interaction.accountId, interaction.kept);
    this.#parts.recorder.record(interaction);
    const trace = this.#facts.caller.trace;
    trace.settled = interaction;
    trace.onSettled?.(interaction);
  }

  #interaction(ending: Ending): Interaction {
    const { caller, dialect, facts, target, mode, lane, bodyText } = this.#facts;
    const nowMs = this.#parts.clock.monotonicMs();
    const price = this.#parts.prices.find(target.vendor.label, target.model, caller.arrivedAt);
    const bill = this.meter.bill({
      status: ending.status,
      mode,
      price,
      vendorCostBelieved: target.vendor.reportsCost,
      promptTokens: () => estimateTokens(promptText(this.#facts.body)),
    });
    const folded = ending.responseText === undefined ? this.#folded() : undefined;
    const responseText = ending.responseText ?? folded?.text;
    const payload = this.#payload(bodyText, responseText, folded?.truncated === true);
    const firstTokenMs = this.meter.firstTokenMs;
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
      status: ending.status,
      httpStatus: ending.httpStatus,
      errorCode: ending.errorCode ?? null,
      finishReason: this.meter.finishReason ?? null,
      ...tokenColumns(bill),
      priceVersion: price?.version ?? null,
      translationLoss: [...lane.losses],
      latencyMs: Math.round(nowMs - caller.arrivedMs),
      timeToFirstTokenMs: firstTokenMs === undefined
        ? null
        : Math.round(firstTokenMs - caller.arrivedMs),
      ...payload,
      ...this.#kept(ending, folded?.truncated ? undefined : responseText),
    };
  }

  /** Only an answer that ended well is continued. */
  #kept(ending: Ending, responseText: string | undefined): { kept?: Kept } {
    if (ending.status !== "completed") return {};
    const reasoning = this.#facts.lane.keptReasoning(this.meter.answer());
    const response = responseText === undefined ? undefined : this.#facts.kept?.(responseText);
    if (reasoning.length === 0 && !response) return {};
    return { kept: { reasoning, ...(response ? { response } : {}) } };
  }

  #payload(
    bodyText: string,
    response: string | undefined,
    alreadyTruncated: boolean,
  ): Pick<Interaction, "requestText" | "responseText" | "payloadTruncated"> {
    const request = capPayload(bodyText, this.#parts.payloadMaxBytes);
    const capped = response === undefined
      ? undefined
      : capPayload(response, this.#parts.payloadMaxBytes);
    return {
      requestText: request.text,
      responseText: capped?.text ?? null,
      payloadTruncated: request.truncated || capped?.truncated === true ||
        alreadyTruncated,
    };
  }

  /** A streamed answer as its folded whole; nothing when nothing came. */
  #folded(): { text: string; truncated: boolean } | undefined {
    const answer = this.meter.answer();
    if (answer.choices.length === 0) return undefined;
    return {
      text: JSON.stringify(this.#facts.lane.encodeFolded(answer)),
      truncated: answer.truncated,
    };
  }
}

function tokenColumns(bill: Bill) {
  const usage = bill.usage;
  const written = usage?.cacheWrite === undefined && usage?.cacheWriteLong === undefined
    ? null
    : (usage.cacheWrite ?? 0) + (usage.cacheWriteLong ?? 0);
  return {
    inputTokens: usage?.input ?? null,
    cacheReadTokens: usage?.cacheRead ?? null,
    cacheWriteTokens: written,
    outputTokens: usage?.output ?? null,
    reasoningTokens: usage?.reasoning ?? null,
    totalTokens: usage ? usage.input + usage.output : null,
    costNanos: bill.costNanos,
    chargedNanos: bill.chargedNanos,
    billingBasis: bill.basis,
    usageRawText: usage?.raw === undefined ? null : JSON.stringify(usage.raw),
  };
}
