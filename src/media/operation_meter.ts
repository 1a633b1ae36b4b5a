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

/** What a call of an operation came to, as whoever reads its answers reports it. */
export class OperationMeter implements CallMeter {
  readonly #nowMs: () => number;
  #firstTokenMs: number | undefined;
  #finish: FinishReason | undefined;
  #reported: Counted | undefined;

  /** `nowMs` is a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The first of the answer has come. */
  began(): void {
    this.#firstTokenMs ??= this.#nowMs();
  }

  /** The last report before the call's end counts; of several requests it is their sum. */
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
