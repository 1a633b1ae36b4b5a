import type { CanonicalAnswer, CanonicalEvent } from "../dialects/kernel/canonical.ts";
import { Fold } from "../dialects/kernel/fold.ts";
import { estimateTokens } from "../shared/token_estimate.ts";
import type {
  BillingBasis,
  FinishReason,
  InteractionStatus,
  Mode,
  SettledCall,
} from "../shared/interaction.ts";
import { callCost } from "../pricing/call_cost.ts";
import { plausible, storableCount } from "../pricing/plausible.ts";
import { type BillableUsage, type PriceRow, vendorCostNanos } from "../pricing/pricing.ts";
import type { Usage } from "../shared/usage.ts";
import { nanosToUsd } from "../base/money.ts";
import { pricedUsageText } from "../repricing/repricing.ts";

/** What one call came to, once it has ended. */
export interface Bill {
  /** Undefined where nothing was reported and nothing produced. */
  usage: Usage | undefined;
  basis: BillingBasis;
  /** Null when no price is known. */
  costNanos: bigint | null;
  /**
   * Where the vendor reported the cost: what its price list gives; null where that gives nothing.
   */
  listCostNanos: bigint | null;
  chargedNanos: bigint;
}

/** What a bill depends on besides the answer. */
export interface BillTerms {
  status: InteractionStatus;
  mode: Mode;
  /** What the call was to cost at most; null where it is charged nothing. */
  boundNanos: bigint | null;
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
  /** The model that the vendor says it used. */
  readonly reportedModel?: string | undefined;
  bill(terms: BillTerms): Bill;
  /** The counts for a plainer bill; undefined where nothing of the answer came. Never throws. */
  counted(promptTokens: () => number): Counted | undefined;
  /** The folded answer; absent where the answer comes with its text for the record. */
  answer?(): CanonicalAnswer;
}

/** Usage as it was reported or counted. */
export interface Counted {
  usage: BillableUsage;
  basis: BillingBasis;
}

/** The bill of a call that produced nothing. */
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
 * Listens to the canonical events of one answer, passed through or translated: the usage that the
 * vendor last reported, the time of the first token, the finish reason, and the folded answer for
 * the record.
 */
export class Meter implements CallMeter {
  readonly #fold: Fold;
  readonly #nowMs: () => number;
  #usage: Usage | undefined;
  #firstTokenMs: number | undefined;
  #model: string | undefined;
  #finish: FinishReason | undefined;
  #outputChars = 0;
  /** An event could not be folded: the answer is incomplete. */
  #isBroken = false;
  #isUnread = false;

  /** `maxChars` caps the folded answer's text; `nowMs` is a monotonic clock. */
  constructor(maxChars: number, nowMs: () => number) {
    this.#fold = new Fold(maxChars, maxMediaChars);
    this.#nowMs = nowMs;
  }

  /** Never throws: an event that can't be folded is left out of the answer, but counted. */
  listen(events: readonly CanonicalEvent[]): void {
    for (const event of events) {
      this.#count(event);
      try {
        this.#fold.add(event);
      } catch {
        this.#isBroken = true;
      }
    }
  }

  /**
   * A whole answer came that can't be read: counts the usage that its vendor reported, else so many
   * characters of text.
   */
  unread(reported: Usage | undefined, chars: number): void {
    if (reported === undefined && chars === 0) return;
    this.#isUnread = true;
    this.#usage = reported ?? this.#usage;
    this.#firstTokenMs ??= this.#nowMs();
    this.#outputChars += chars;
  }

  #count(event: CanonicalEvent): void {
    if (event.type === "block-delta") {
      this.#firstTokenMs ??= this.#nowMs();
      this.#outputChars += event.text?.length ?? 0;
    } else if (event.type === "block-start") {
      this.#firstTokenMs ??= this.#nowMs();
    } else if (event.type === "usage") {
      // Reports are cumulative: the last one wins, and they are never added.
      this.#usage = event.usage;
    } else if (event.type === "finish") {
      this.#finish ??= event.reason;
    } else if (event.type === "start") {
      this.#model = event.model;
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
    const answer = this.#fold.answer();
    return this.#isBroken ? { ...answer, truncated: true } : answer;
  }

  counted(promptTokens: () => number): Counted | undefined {
    return this.#isMetered ? this.#usageFor(promptTokens) : undefined;
  }

  get #isMetered(): boolean {
    return this.#outputChars > 0 || this.#firstTokenMs !== undefined || this.#usage !== undefined;
  }

  /**
   * What the call costs: for an answer that ended, the vendor's own numbers; without them, counts
   * of what was produced; nothing where nothing was produced.
   */
  bill(ending: BillTerms): Bill {
    if (ending.status !== "completed" && !this.#isMetered) return nothingBilled;
    const { usage, basis } = this.#usageFor(ending.promptTokens);
    const { unreportedSearches: searches = 0 } = ending;
    const isCounted = (usage.webSearches ?? 0) >= searches;
    const counted = isCounted ? usage : { ...usage, webSearches: searches };
    const bill = billOf(counted, basis, ending);
    // How much of an unreadable text was an answer is a guess: it never costs more than the call's
    // bound.
    return this.#isUnread && basis === "estimated" ? atMost(bill, ending.boundNanos) : bill;
  }

  #usageFor(promptTokens: () => number): { usage: Usage; basis: BillingBasis } {
    // A whole answer that can't be read reports its usage as one that can.
    const isReported = this.#finish !== undefined || this.#isUnread;
    if (this.#usage && isReported) return { usage: this.#usage, basis: "reported" };
    // A report in the middle of a stream may lag behind what was sent: take the larger count.
    const written = this.#writtenTokens();
    const input = this.#usage?.input || promptTokens();
    const output = Math.max(this.#usage?.output ?? 0, written);
    return { usage: { ...this.#usage, input, output }, basis: "estimated" };
  }

  #writtenTokens(): number {
    const text = this.#outputText();
    // Text beyond the fold's cap is counted by its length.
    return estimateTokens(text) + Math.ceil(Math.max(0, this.#outputChars - text.length) / 4);
  }

  #outputText(): string {
    let text = "";
    try {
      for (const choice of this.answer().choices) {
        for (const part of choice.parts) {
          text += part.kind === "tool-call" ? part.name + part.text : part.text;
        }
      }
    } catch {
      // Text that can't be read is counted by its length.
    }
    return text;
  }
}

function atMost(bill: Bill, nanos: bigint | null): Bill {
  if (nanos === null || bill.costNanos === null || bill.costNanos <= nanos) return bill;
  return { ...bill, costNanos: nanos, chargedNanos: bill.chargedNanos === 0n ? 0n : nanos };
}

/**
 * The plainest bill, for a call whose own could not be made: the counts at the row's prices, or the
 * call's bound where that fails too. Never throws.
 */
export function plainBill(counted: Counted | undefined, terms: BillTerms): Bill {
  if (!counted) return nothingBilled;
  const usage = numbersOf(counted.usage);
  try {
    const plain = { ...terms, vendorCostBelieved: false, priceOf: () => undefined };
    return billOf(usage, counted.basis, plain);
  } catch {
    const costNanos = terms.boundNanos;
    const chargedNanos = terms.mode === "managed" ? costNanos ?? 0n : 0n;
    return { usage, basis: "estimated", costNanos, listCostNanos: null, chargedNanos };
  }
}

/** Only the counts of a report. */
function numbersOf(usage: BillableUsage): BillableUsage {
  const numbers = Object.entries(usage).filter(([, value]) => Number.isFinite(value));
  return {
    ...Object.fromEntries(numbers),
    input: usage.input || 0,
    output: usage.output || 0,
    ...(usage.images ? { images: usage.images } : {}),
  };
}

/**
 * What a usage costs: the vendor's reported cost where it is trusted, else by the price row; never
 * more than is plausible.
 */
export function billOf(usage: BillableUsage, basis: BillingBasis, terms: BillTerms): Bill {
  // A cost that was reported before the end may lag behind.
  const believed = terms.vendorCostBelieved && basis === "reported";
  const vendorReported = believed ? vendorCostNanos(usage) : undefined;
  const nanos = terms.price ? callCost(usage, terms.price, terms.priceOf).nanos : null;
  const costNanos = vendorReported ?? nanos;
  return plausible({
    usage,
    basis: vendorReported === undefined ? basis : "vendor_cost",
    costNanos,
    // A fallback price is a guess, nothing to compare with.
    listCostNanos: vendorReported === undefined || terms.price?.fallback === true ? null : nanos,
    chargedNanos: terms.mode === "managed" ? costNanos ?? 0n : 0n,
  }, terms.boundNanos);
}

/** Does one step; the record does without it where it fails. */
type Try = <T>(act: () => T, otherwise: T) => T;

type TokenColumns =
  & Pick<
    SettledCall,
    | "inputTokens"
    | "cacheReadTokens"
    | "cacheWriteTokens"
    | "outputTokens"
    | "reasoningTokens"
    | "totalTokens"
    | "costNanos"
    | "chargedNanos"
    | "billingBasis"
    | "usageRawText"
  >
  & Pick<SettledCall, "pricedUsageText" | "listCostUsd">;

/**
 * Writes a bill into the columns of a record. `attempt` guards against objects of a vendor that
 * can't be written.
 */
export function recordBill(record: TokenColumns, bill: Bill, attempt: Try): void {
  const { usage } = bill;
  const written = usage?.cacheWrite === undefined && usage?.cacheWriteLong === undefined
    ? undefined
    : (usage.cacheWrite ?? 0) + (usage.cacheWriteLong ?? 0);
  const priced = usage && attempt(() => pricedUsageText(usage), undefined);
  const { listCostNanos } = bill;
  record.inputTokens = countOf(usage?.input);
  record.cacheReadTokens = countOf(usage?.cacheRead);
  record.cacheWriteTokens = countOf(written);
  record.outputTokens = countOf(usage?.output);
  record.reasoningTokens = countOf(usage?.reasoning);
  record.totalTokens = countOf(usage && usage.input + usage.output);
  record.costNanos = bill.costNanos;
  record.chargedNanos = bill.chargedNanos;
  record.billingBasis = bill.basis;
  // An object that is nested thousands of levels deep can be parsed but not written.
  const raw = usage?.raw;
  record.usageRawText = raw === undefined ? null : attempt(() => JSON.stringify(raw), null);
  if (priced !== undefined) record.pricedUsageText = priced;
  if (listCostNanos !== null) record.listCostUsd = nanosToUsd(listCostNanos);
}

function countOf(tokens: number | undefined): number | null {
  return tokens === undefined ? null : storableCount(tokens);
}
