import type { BillingBasis } from "../shared/interaction.ts";

/** What a vendor's report came to, before anybody has asked whether it can be true. Nano-dollars. */
export interface Reported {
  basis: BillingBasis;
  /** Null when no price is known. */
  costNanos: bigint | null;
  listCostNanos: bigint | null;
  chargedNanos: bigint;
}

/** What a call can cost at most, as far as is known before it is sent. Nano-dollars. */
export interface CostBounds {
  /** For credit, caps and budgets; null where the account is charged nothing. */
  readonly boundNanos: bigint | null;
  /** For its vendor's report: if its inline pictures are text. Absent where that is no more. */
  readonly believedNanos?: bigint | undefined;
}

/** `costAtMost`: of a call with so many tokens in its prompt, in nano-dollars. */
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

/** A report of up to so many times the call's bound could be true. */
const believedTimes = 10n;

/** A thousand million dollars: no balance has more, and the store's numbers hold it. */
export const mostNanos = 1_000_000_000n * 1_000_000_000n;

/**
 * The one place between a vendor's numbers and the ledger. An excess that could be true is settled
 * at its real cost; one beyond belief costs the call's bound. Whatever was reported, the amounts
 * can be stored.
 */
export function plausible<Bill extends Reported>(
  bill: Bill,
  { boundNanos, believedNanos = 0n }: CostBounds,
): Bill {
  const reportedNanos = bill.costNanos ?? 0n;
  // What was counted here, out of what was received, is nobody's word.
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

/** A count of tokens as the store and JSON hold it. */
export function storableCount(count: number): number {
  return Math.min(Math.max(0, Math.ceil(count) || 0), Number.MAX_SAFE_INTEGER);
}

function storableNanos(nanos: bigint): bigint {
  if (nanos < 0n) return 0n;
  return nanos > mostNanos ? mostNanos : nanos;
}
