import type { BillingBasis, FinishReason } from "../shared/interaction.ts";
import type { BillableUsage } from "../pricing/pricing.ts";
import {
  type Bill,
  billOf,
  type BillTerms,
  type CallMeter,
  type Counted,
  nothingBilled,
} from "../relay/meter.ts";

/** The usage of an operation's call, as reported by the reader of its answers. */
export class OperationMeter implements CallMeter {
  readonly #nowMs: () => number;
  #firstTokenMs: number | undefined;
  #finish: FinishReason | undefined;
  #reported: Counted | undefined;

  /** `nowMs` is a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The first byte of the answer has arrived. */
  began(): void {
    this.#firstTokenMs ??= this.#nowMs();
  }

  /** The last report before the end counts; with several vendor requests it is their sum. */
  report(usage: BillableUsage, basis: BillingBasis, finish?: FinishReason): void {
    this.began();
    this.#reported = { usage, basis };
    this.#finish = finish ?? this.#finish;
  }

  get firstTokenMs(): number | undefined {
    return this.#firstTokenMs;
  }

  get finishReason(): FinishReason | undefined {
    return this.#finish;
  }

  get hasReport(): boolean {
    return this.#reported !== undefined;
  }

  counted(): Counted | undefined {
    return this.#reported;
  }

  bill(terms: BillTerms): Bill {
    if (!this.#reported) return nothingBilled;
    return billOf(this.#reported.usage, this.#reported.basis, terms);
  }
}
