import { callCost } from "../pricing/call_cost.ts";
import { storableNanos } from "../pricing/plausible.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import type { CorrectedCall, PricedCall, PricedCallQuery } from "../records/analytics_store.ts";
import type { Usage } from "../shared/usage.ts";

/**
 * The store that corrects calls and their charges. Implemented in `src/repricing/store/`; throws
 * `Fault("store_unavailable")` when it can't be reached.
 */
export interface RepricingStore {
  /** One account's calls that have a cost or could have one, oldest first, in small batches. */
  read(query: PricedCallQuery): AsyncIterable<readonly PricedCall[]>;
  /**
   * Writes the corrected costs and, for each charge that changes, one `adjust` entry that names the
   * call. A call that was changed or erased meanwhile is left alone. Returns the
   * ids of the calls that were written.
   */
  correct(accountId: number, calls: readonly CorrectedCall[]): Promise<ReadonlySet<string>>;
}

/** Why a call keeps its cost. */
export type UnchangedReason = "vendor_cost" | "disputed" | "no_usage" | "no_price" | "list_price";

/**
 * Prices a call by this row. Returns the corrected call, `"same"`, or why it keeps its cost:
 *
 * - `vendor_cost`: the vendor reported its charge, which no price table changes;
 * - `disputed`: the reported usage can't be true, so the authorized amount was charged;
 * - `no_usage`: nothing is known to compute from;
 * - `no_price`: the table has no row for that model and time;
 * - `list_price`: only a fallback row is left, and the call was priced at something better, such as
 *   the vendor's own list of that day, which isn't kept.
 *
 * The charge follows the cost where the service's own key was used, unless it was refunded.
 */
export function repriced(
  call: PricedCall,
  usage: Usage | undefined,
  row: PriceRow | undefined,
  priceOf: (model: string) => PriceRow | undefined,
): CorrectedCall | "same" | UnchangedReason {
  if (call.basis === "vendor_cost" || call.basis === "disputed") return call.basis;
  if (!usage) return "no_usage";
  if (!row) return "no_price";
  if (row.fallback === true && call.costNanos !== null) return "list_price";
  const costNanos = storableNanos(callCost(usage, row, priceOf).nanos);
  const postedNanos = call.postedNanos ?? call.chargedNanos;
  if (costNanos === call.costNanos && postedNanos === call.chargedNanos) return "same";
  const follows = call.mode === "managed" && !call.isRefunded &&
    call.chargedNanos === (call.costNanos ?? 0n);
  const chargedNanos = follows ? costNanos : postedNanos;
  return { call, costNanos, chargedNanos, priceVersion: row.version };
}

/** Everything of a usage that a price can depend on, as JSON text: counts and tiers, no content. */
export function pricedUsageText(usage: Usage): string {
  const otherModels = usage.otherModels?.map(({ model, usage }) => ({
    model,
    usage: { ...usage, raw: undefined },
  }));
  return JSON.stringify({ ...usage, raw: undefined, unreported: undefined, otherModels });
}
