import type { CanonicalAnswer, CanonicalEvent } from "../dialects/canonical.ts";
import { Fold } from "../dialects/fold.ts";
import { estimateTokens } from "../domain/estimate.ts";
import type { BillingBasis, FinishReason, InteractionStatus, Mode } from "../domain/interaction.ts";
import { callCost } from "../domain/call_cost.ts";
import { plausible } from "../domain/plausible.ts";
import { type BillableUsage, type PriceRow, vendorCostNanos } from "../domain/pricing.ts";
import type { Usage } from "../domain/usage.ts";

/** What one call came to, once it has ended. */
export interface Bill {
  /** Undefined when nothing is known and nothing was produced. */
  usage: Usage | undefined;
  basis: BillingBasis;
  /** Null when no price is known. */
  costNanos: bigint | null;
  /** For a cost that the vendor told: what its price list says; null when it says nothing. */
  listCostNanos: bigint | null;
  chargedNanos: bigint;
}

/** What a bill depends on beside what was heard of the answer. */
export interface BillTerms {
  status: InteractionStatus;
  mode: Mode;
  /** What the call was to cost at most; null where it is charged nothing. */
  setAsideNanos: bigint | null;
  price: PriceRow | undefined;
  /** The price of another model that took part. */
  priceOf: (model: string) => PriceRow | undefined;
  vendorCostBelieved: boolean;
  /** Web searches that the call made and usage doesn't count. */
  unreportedSearches?: number;
  /** Counts the prompt; called only where the vendor's count is missing. */
  promptTokens: () => number;
}

/** What a call asks its meter when it ends. */
export interface CallMeter {
  readonly firstTokenMs: number | undefined;
  readonly finishReason: FinishReason | undefined;
  bill(terms: BillTerms): Bill;
  /** The folded answer; without choices where the record is told the answer's text. */
  answer(): CanonicalAnswer;
}

/** The bill of a call that came to nothing. */
export const nothingBilled: Bill = {
  usage: undefined,
  basis: "none",
  costNanos: 0n,
  listCostNanos: null,
  chargedNanos: 0n,
};

/** Of pictures and sound in one streamed answer, as base64. */
const maxMediaChars = 32 * 1024 * 1024;

/**
 * Listens to the canonical events of one answer, whichever lane it takes: usage as the vendor last
 * reported it, when the first words came, how it ended, and the folded answer for the record.
 */
export class Meter implements CallMeter {
  readonly #fold: Fold;
  readonly #nowMs: () => number;
  #usage: Usage | undefined;
  #firstTokenMs: number | undefined;
  #model: string | undefined;
  #finish: FinishReason | undefined;
  #outputChars = 0;

  /** `maxChars` caps the folded answer's text; `nowMs` is a monotonic clock. */
  constructor(maxChars: number, nowMs: () => number) {
    this.#fold = new Fold(maxChars, maxMediaChars);
    this.#nowMs = nowMs;
  }

  listen(events: readonly CanonicalEvent[]): void {
    for (const event of events) {
      this.#fold.add(event);
      if (event.type === "block-delta") {
        this.#firstTokenMs ??= this.#nowMs();
        this.#outputChars += event.text.length;
      } else if (event.type === "block-start") {
        this.#firstTokenMs ??= this.#nowMs();
      } else if (event.type === "usage") {
        // The last report wins; reports are never added (field.md 3).
        this.#usage = event.usage;
      } else if (event.type === "finish") {
        this.#finish ??= event.reason;
      } else if (event.type === "start") {
        this.#model = event.model;
      }
    }
  }

  get firstTokenMs(): number | undefined {
    return this.#firstTokenMs;
  }

  /** The reason of the first answer that ended. */
  get finishReason(): FinishReason | undefined {
    return this.#finish;
  }

  /** The model that the vendor says it used. */
  get reportedModel(): string | undefined {
    return this.#model;
  }

  answer(): CanonicalAnswer {
    return this.#fold.answer();
  }

  /**
   * What the call costs (pricing.md §3): the vendor's own numbers for an answer that ended; what
   * was produced, counted, where they are missing; nothing where nothing was produced.
   */
  bill(ending: BillTerms): Bill {
    const produced = this.#outputChars > 0 || this.#firstTokenMs !== undefined;
    if (ending.status !== "completed" && !produced && !this.#usage) {
      return nothingBilled;
    }
    const { usage, basis } = this.#usageFor(ending.promptTokens);
    const { unreportedSearches: searches = 0 } = ending;
    const isCounted = (usage.webSearches ?? 0) >= searches;
    return billOf(isCounted ? usage : { ...usage, webSearches: searches }, basis, ending);
  }

  #usageFor(promptTokens: () => number): { usage: Usage; basis: BillingBasis } {
    if (this.#usage && this.#finish !== undefined) return { usage: this.#usage, basis: "reported" };
    // A report in the middle of a stream may lag behind what was sent: the larger count holds.
    const written = this.#writtenTokens();
    const input = this.#usage?.input || promptTokens();
    const output = Math.max(this.#usage?.output ?? 0, written);
    return { usage: { ...this.#usage, input, output }, basis: "estimated" };
  }

  #writtenTokens(): number {
    let text = "";
    for (const choice of this.answer().choices) {
      for (const part of choice.parts) {
        text += part.kind === "tool-call" ? part.name + part.text : part.text;
      }
    }
    // What the fold's cap left out is counted by its length.
    return estimateTokens(text) + Math.ceil(Math.max(0, this.#outputChars - text.length) / 4);
  }
}

/**
 * What a usage costs: as the vendor told, where it is believed, else by the price row; no more than
 * can be true.
 */
export function billOf(usage: BillableUsage, basis: BillingBasis, terms: BillTerms): Bill {
  // A cost told before the end lags behind as a count does.
  const believed = terms.vendorCostBelieved && basis === "reported";
  const told = believed ? vendorCostNanos(usage) : undefined;
  const nanos = terms.price ? callCost(usage, terms.price, terms.priceOf).nanos : null;
  const costNanos = told ?? nanos;
  return plausible({
    usage,
    basis: told === undefined ? basis : "vendor_cost",
    costNanos,
    // A fallback price is a guess, nothing to compare with.
    listCostNanos: told === undefined || terms.price?.fallback === true ? null : nanos,
    chargedNanos: terms.mode === "managed" ? costNanos ?? 0n : 0n,
  }, terms.setAsideNanos);
}
