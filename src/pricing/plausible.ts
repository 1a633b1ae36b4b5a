import type { BillingBasis } from "../shared/interaction.ts";

/** A bill from a vendor's report, not yet checked for plausibility. In nano-dollars. */
export interface Reported {
  basis: BillingBasis;
  /** Null when no price is known. */
  costNanos: bigint | null;
  /**
   * The cost by the price row, where `costNanos` is the vendor's own report; otherwise null, and
   * null where the row gives no cost.
   */
  listCostNanos: bigint | null;
  chargedNanos: bigint;
}

/** The most that a call can cost, as far as is known before it is sent. In nano-dollars. */
export interface CostBounds {
  /** For credit, caps and budgets; null where the account isn't charged. */
  readonly boundNanos: bigint | null;
  /**
   * For checking the vendor's report: the bound if inline pictures count as text. Absent where that
   * isn't higher.
   */
  readonly believedNanos?: bigint | undefined;
}

/**
 * Computes the bounds. `costAtMost` returns the highest cost of a call with this many prompt
 * tokens, in nano-dollars.
 */
export function costBoundsOf(
  { inputTokens, believedInputTokens = inputTokens }: {
    inputTokens: number;
    believedInputTokens?: number;
  },
  costAtMost: (inputTokens: number) => bigint,
): CostBounds & { boundNanos: bigint } {
  const boundNanos = costAtMost(inputTokens);
  if (believedInputTokens <= inputTokens) return { boundNanos };
  return { boundNanos, believedNanos: costAtMost(believedInputTokens) };
}

/** A report of up to this many times the call's bound could be true. */
const believedTimes = 10n;

/** A billion dollars: no balance is higher, and the store's integers can hold it. */
export const maxNanos = 1_000_000_000n * 1_000_000_000n;

/**
 * Checks a bill before it reaches the ledger; the only place that does. A cost above the bound that
 * could be true is settled as reported; one beyond belief is replaced by the bound. The amounts
 * returned can always be stored.
 */
export function plausible<Bill extends Reported>(
  bill: Bill,
  { boundNanos, believedNanos = 0n }: CostBounds,
): Bill {
  const reportedNanos = bill.costNanos ?? 0n;
  // An estimate was counted here from what was received, so there is no claim to doubt.
  const isWord = bill.basis !== "estimated";
  const isExcess = boundNanos !== null && reportedNanos > boundNanos * believedTimes;
  if (isWord && isExcess && reportedNanos > believedNanos) {
    const costNanos = storableNanos(boundNanos);
    const chargedNanos = bill.chargedNanos === 0n ? 0n : costNanos;
    return { ...bill, basis: "disputed", costNanos, listCostNanos: null, chargedNanos };
  }
  return {
    ...bill,
    costNanos: bill.costNanos === null ? null : storableNanos(bill.costNanos),
    listCostNanos: bill.listCostNanos === null ? null : storableNanos(bill.listCostNanos),
    chargedNanos: storableNanos(bill.chargedNanos),
  };
}

/** Limits a token count to what the store and JSON can hold. */
export function storableCount(count: number): number {
  return Math.min(Math.max(0, Math.ceil(count) || 0), Number.MAX_SAFE_INTEGER);
}

/** Limits a cost to what the store can hold. */
export function storableNanos(nanos: bigint): bigint {
  if (nanos < 0n) return 0n;
  return nanos > maxNanos ? maxNanos : nanos;
}
