import type { AnswerPart, CanonicalAnswer, CanonicalEvent } from "../dialects/kernel/canonical.ts";
import { Fold } from "../dialects/kernel/fold.ts";
import type { PromptUsage } from "../dialects/kernel/prompt_text.ts";
import { answerMediaTokens, sealedReasoningTokens } from "../shared/media_estimate.ts";
import { estimateTokens } from "../shared/token_estimate.ts";
import type {
  BillingBasis,
  FinishReason,
  InteractionStatus,
  Mode,
  SettledCall,
} from "../shared/interaction.ts";
import type { DrawingModel } from "./plan/hosted_work.ts";
import { callCost } from "../pricing/call_cost.ts";
import { type CostBounds, plausible, type Reported, storableCount } from "../pricing/plausible.ts";
import { type BillableUsage, type PriceRow, vendorCostNanos } from "../pricing/pricing.ts";
import type { CountedWork, HostedCounts, Usage } from "../shared/usage.ts";
import { nanosToUsd } from "../base/money.ts";
import { pricedUsageText } from "../repricing/repricing.ts";

/** Usage and cost of one call, once it has ended. */
export interface Bill extends Reported {
  /** Undefined where nothing was reported and nothing produced. */
  usage: Usage | undefined;
}

/** What usage is estimated from where the vendor reports none. */
export interface EstimateTerms {
  /** Counts the prompt; called only where the vendor's count is missing. */
  promptUsage: () => PromptUsage;
  /** The most output tokens that the answer can have, all choices together; absent: unknown. */
  maxOutputTokens?: number | undefined;
  /** The tier that was asked for, if it costs more than the usual one. */
  dearerTier?: string | undefined;
  /** Counts vendor-side work by its blocks in the answer. */
  countHosted?: ((work: readonly unknown[]) => CountedWork) | undefined;
  /** The model that draws the answer's pictures; absent: the one that was asked. */
  drawingModel?: DrawingModel | undefined;
  /** Whether the cost that the vendor reports is the call's. */
  vendorCostBelieved?: boolean;
}

/** What a bill depends on besides the answer. */
export interface BillTerms extends EstimateTerms, CostBounds {
  status: InteractionStatus;
  mode: Mode;
  price: PriceRow | undefined;
  /** The price of another model that took part. */
  priceOf: (model: string) => PriceRow | undefined;
  vendorCostBelieved: boolean;
  /** Web searches that the call made and usage doesn't count. */
  unreportedSearches?: number;
}

/** What a call asks its meter when it ends. */
export interface CallMeter {
  readonly firstTokenMs: number | undefined;
  readonly finishReason: FinishReason | undefined;
  /** The model that the vendor says it used. */
  readonly reportedModel?: string | undefined;
  bill(terms: BillTerms): Bill;
  /** The counts for a plainer bill; undefined where nothing of the answer came. Never throws. */
  counted(terms: EstimateTerms): Counted | undefined;
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

/** The most base64 characters of images and audio that are collected from one streamed answer. */
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
  #isUsageEarly = false;
  #outputSoFar = 0;
  #firstTokenMs: number | undefined;
  #model: string | undefined;
  #finish: FinishReason | undefined;
  #tier: string | undefined;
  /** UTF-16 units of the answer without media. */
  #outputChars = 0;
  /** Images and audio by block, in characters of base64; absent before the first. */
  #media: Map<number, MediaBlock> | undefined;
  /** The number of long base64 strings in an answer that can't be read. */
  #unreadMedia = 0;
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
   * Counts a whole answer that can't be read: by the usage that its vendor reported, else by its
   * `chars` of text and `pieces` of media.
   */
  unread(reported: Usage | undefined, chars: number, pieces = 0): void {
    if (reported === undefined && chars === 0) return;
    this.#isUnread = true;
    if (reported) this.#usage = reported;
    this.#firstTokenMs ??= this.#nowMs();
    this.#outputChars += chars;
    this.#unreadMedia += pieces;
  }

  #count(event: CanonicalEvent): void {
    if (event.type === "block-delta") {
      this.#firstTokenMs ??= this.#nowMs();
      const length = event.text?.length ?? 0;
      const media = this.#media?.get(event.block);
      if (media) media.chars += length;
      else this.#outputChars += length;
    } else if (event.type === "block-start") {
      this.#firstTokenMs ??= this.#nowMs();
      if (event.content.kind !== "media") return;
      const { media, mimeType } = event.content;
      (this.#media ??= new Map()).set(event.block, { media, mimeType, chars: 0 });
    } else if (event.type === "usage") {
      // Reports are cumulative: the last one wins, and they are never added.
      this.#usage = withEarlierCount(event.usage, this.#usage);
      this.#isUsageEarly = event.isEarly === true;
      this.#outputSoFar = event.outputSoFar ?? this.#outputSoFar;
    } else if (event.type === "finish") {
      this.#finish ??= event.reason;
    } else if (event.type === "start") {
      this.#model = event.model;
      this.#tier = event.serviceTier;
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

  counted(terms: EstimateTerms): Counted | undefined {
    return this.#isMetered ? this.#usageFor(terms) : undefined;
  }

  get #isMetered(): boolean {
    return this.#firstTokenMs !== undefined || this.#usage !== undefined;
  }

  /**
   * Returns what the call costs: for an answer that ended, by the vendor's own numbers; without
   * them, by counts of what was produced. A call that didn't complete and produced nothing costs
   * nothing.
   */
  bill(ending: BillTerms): Bill {
    if (ending.status !== "completed" && !this.#isMetered) return nothingBilled;
    const { usage, basis } = this.#usageFor(ending);
    const { unreportedSearches: searches = 0 } = ending;
    const isCounted = (usage.webSearches ?? 0) >= searches;
    const counted = isCounted ? usage : { ...usage, webSearches: searches };
    return billOf(counted, basis, ending);
  }

  #usageFor(terms: EstimateTerms): { usage: Usage; basis: BillingBasis } {
    // The usage in a whole answer counts even if the rest can't be read.
    const hasEnded = this.#finish !== undefined || this.#isUnread;
    const reported = hasEnded && !this.#isUsageEarly ? this.#usage : undefined;
    const hasCost = reported?.vendorCostUsd !== undefined && terms.vendorCostBelieved === true;
    const { usage, isEstimate } = this.#completed(reported, terms);
    const basis = isEstimate && !hasCost ? "estimated" : "reported";
    const counted = { usage, basis } as const;
    const pictures = this.#mediaIn("image").length;
    if (pictures === 0 || hasCost) return counted;
    const { drawingModel } = terms;
    if (!drawingModel) {
      // What an SVG's author wrote, for instance, is not this model's images.
      const isSplit = usage.imageOutput !== undefined || usage.otherModels !== undefined;
      return isSplit ? counted : this.#withImageShare(usage);
    }
    if (usage.otherModels) return counted;
    // The vendor's report leaves out the pictures.
    const tokens = pictures * drawingModel.tokensPerPicture;
    const drawing = { input: 0, output: tokens, imageOutput: tokens };
    return {
      usage: {
        ...usage,
        output: usage.output + tokens,
        imageOutput: (usage.imageOutput ?? 0) + tokens,
        otherModels: [{ model: drawingModel.model, usage: drawing }],
      },
      basis: "estimated",
    };
  }

  /** Estimates what the last report leaves out; its own count stays, also a 0. */
  #completed(
    reported: Usage | undefined,
    terms: EstimateTerms,
  ): { usage: Usage; isEstimate: boolean } {
    if (!reported) return { usage: this.#estimated(terms), isEstimate: true };
    const { unreported, ...named } = reported;
    if (!unreported) return { usage: reported, isEstimate: false };
    const { input, output, reasoning = 0 } = named;
    const estimate = this.#estimated(terms);
    if (unreported === "input") return { usage: { ...estimate, output }, isEstimate: true };
    const others = tokensOfOthers(named);
    // An answer without words has no other output to report.
    if (estimate.output - others.output <= reasoning - others.reasoning) {
      return { usage: { ...named, output: estimate.output }, isEstimate: false };
    }
    return { usage: { ...estimate, input }, isEstimate: true };
  }

  /** Counts as the images' all output beside reasoning and words. */
  #withImageShare(usage: Usage): { usage: Usage; basis: BillingBasis } {
    const others = (usage.reasoning ?? 0) + this.#writtenTokens(this.#parts());
    const imageOutput = Math.max(0, usage.output - others);
    return { usage: { ...usage, imageOutput }, basis: "estimated" };
  }

  /** A report in the middle of a stream may lag behind what was sent: the larger count is taken. */
  #estimated(terms: EstimateTerms): Usage {
    const parts = this.#parts();
    const { unreported, ...reported } = this.#usage ?? { input: 0, output: 0 };
    const others = tokensOfOthers(reported);
    const thoughts = reported.reasoning === undefined
      ? undefined
      : reported.reasoning - others.reasoning;
    const hasPrompt = reported.input > 0 && unreported !== "input";
    const unread = Array<MediaBlock>(this.#unreadMedia).fill(unreadPicture);
    const image = tokensOf(terms.drawingModel ? unread : [...unread, ...this.#mediaIn("image")]);
    const audio = tokensOf(this.#mediaIn("audio"));
    const work = parts.flatMap((part) => part.kind === "vendor" ? [part.value] : []);
    const hosted = work.length > 0 ? terms.countHosted?.(work) ?? {} : {};
    const written = this.#writtenTokens(parts) + hiddenTokens(parts, thoughts) + image +
      audio +
      (hosted.writtenTokens ?? 0);
    const most = terms.maxOutputTokens ?? Infinity;
    const usage: Usage = {
      ...reported,
      ...(hasPrompt ? {} : promptBeyond(reported.input, others.input, terms)),
      output: Math.max(
        reported.output,
        others.output + Math.min(written, most),
        this.#finish === undefined ? this.#outputSoFar : 0,
      ),
    };
    atLeast(usage, "imageOutput", Math.min(image, usage.output));
    atLeast(usage, "audioOutput", Math.min(audio, usage.output - Math.min(image, usage.output)));
    const tier = usage.serviceTier ?? this.#tier ?? terms.dearerTier;
    if (tier !== undefined) usage.serviceTier = tier;
    for (const name of hostedNames) atLeast(usage, name, hosted[name] ?? 0);
    // A report that came after the results has them.
    if (!this.#usage || this.#isUsageEarly || unreported === "input") {
      usage.input += hosted.resultTokens ?? 0;
    }
    return usage;
  }

  #writtenTokens(parts: readonly AnswerPart[]): number {
    let text = "";
    for (const part of parts) {
      if (part.kind !== "media") {
        text += part.kind === "tool-call" ? part.name + part.text : part.text;
      }
    }
    // Text beyond the fold's cap is counted by its length.
    return estimateTokens(text) + Math.ceil(Math.max(0, this.#outputChars - text.length) / 4);
  }

  #mediaIn(kind: MediaBlock["media"]): MediaBlock[] {
    return [...this.#media?.values() ?? []]
      .filter(({ media, chars }) => media === kind && chars > 0);
  }

  /** Empty if the answer can't be read: its text is then counted by its length. */
  #parts(): AnswerPart[] {
    try {
      return this.answer().choices.flatMap(({ parts }) => parts);
    } catch {
      return [];
    }
  }
}

/**
 * Tokens of reasoning, of which a summary is shown or nothing, beyond what is shown: those that are
 * reported, else by its sealed form.
 */
function hiddenTokens(parts: readonly AnswerPart[], reported: number | undefined): number {
  const shown = (part: AnswerPart) => estimateTokens(part.text);
  const thoughts = parts.filter(({ kind }) => kind === "reasoning");
  if (reported !== undefined) {
    return Math.max(0, reported - thoughts.reduce((sum, part) => sum + shown(part), 0));
  }
  return thoughts.reduce((sum, part) => {
    if (part.kind !== "reasoning" || !part.opaque) return sum;
    return sum + Math.max(0, sealedReasoningTokens(part.opaque) - shown(part));
  }, 0);
}

/** The prompt as counted, which has at least the tokens that the vendor names. */
function promptBeyond(
  reported: number,
  byOthers: number,
  { promptUsage }: EstimateTerms,
): PromptUsage {
  const prompt = promptUsage();
  return { ...prompt, input: Math.max(prompt.input + byOthers, reported) };
}

/** The tokens of other models within a usage, of which the answer's text shows nothing. */
function tokensOfOthers(usage: Usage): { input: number; output: number; reasoning: number } {
  const sum = { input: 0, output: 0, reasoning: 0 };
  for (const { usage: other } of usage.otherModels ?? []) {
    sum.input += other.input;
    sum.output += other.output;
    sum.reasoning += other.reasoning ?? 0;
  }
  return {
    input: Math.min(sum.input, usage.input),
    output: Math.min(sum.output, usage.output),
    reasoning: Math.min(sum.reasoning, usage.reasoning ?? 0),
  };
}

/** A count that a later report leaves out is at least the earlier one's. */
function withEarlierCount(usage: Usage, earlier: Usage | undefined): Usage {
  const { unreported } = usage;
  if (!unreported || !earlier) return usage;
  return { ...usage, [unreported]: Math.max(usage[unreported], earlier[unreported]) };
}

interface MediaBlock {
  media: "image" | "audio";
  mimeType: string;
  chars: number;
}

/** Stands for a picture in an answer that can't be read. */
const unreadPicture: MediaBlock = { media: "image", mimeType: "", chars: 0 };

function tokensOf(blocks: readonly MediaBlock[]): number {
  return blocks.reduce((sum, block) => sum + answerMediaTokens(block), 0);
}

const hostedNames = ["webSearches", "xSearches", "fileSearches", "codeSessions"] as const;

/** Sets a count that the vendor reported too low or not at all. */
function atLeast(
  usage: Usage,
  name: "imageOutput" | "audioOutput" | keyof HostedCounts,
  count: number,
): void {
  if (count > (usage[name] ?? 0)) usage[name] = count;
}

/**
 * Makes the fallback bill of a call whose own bill failed: the counts at the row's prices or, where
 * that fails too, the call's bound. Never throws.
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

/** Keeps only the numbers of a report. */
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
 * Makes the bill of a usage: the vendor's reported cost where it is trusted, else by the price row;
 * never more than is plausible.
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
  }, terms);
}

/** Runs one step and returns its result, or `otherwise` where it fails. */
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
 * Writes a bill into the columns of a record. `attempt` guards against vendors' objects that can't
 * be written as JSON.
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
