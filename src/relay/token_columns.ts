import { nanosToUsd } from "../base/money.ts";
import type { SettledCall } from "../shared/interaction.ts";
import { storableCount } from "../pricing/plausible.ts";
import { pricedUsageText } from "../repricing/repricing.ts";
import type { Bill } from "./meter.ts";

/** Does a part of the work; where it fails the record does without. */
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

/** A bill as columns of the record. `attempt` guards what a vendor's own object can break. */
export function tokenColumns(bill: Bill, attempt: Try): TokenColumns {
  const { usage } = bill;
  const count = (tokens: number | undefined) => tokens === undefined ? null : storableCount(tokens);
  const written = usage?.cacheWrite === undefined && usage?.cacheWriteLong === undefined
    ? undefined
    : (usage.cacheWrite ?? 0) + (usage.cacheWriteLong ?? 0);
  const priced = usage && attempt(() => pricedUsageText(usage), undefined);
  const { listCostNanos } = bill;
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
    // An object of thousands of levels can be read, and not written.
    usageRawText: usage?.raw === undefined ? null : attempt(() => JSON.stringify(usage.raw), null),
    ...(priced === undefined ? {} : { pricedUsageText: priced }),
    ...(listCostNanos === null ? {} : { listCostUsd: nanosToUsd(listCostNanos) }),
  };
}
