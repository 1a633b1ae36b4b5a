import { callCost } from "../pricing/call_cost.ts";
import { vendorCostNanos } from "../pricing/pricing.ts";
import type { RepricingStore } from "./repricing.ts";
import type { Prices } from "../pricing/table/prices.ts";
import type { Registry } from "../vendors/registry.ts";
import { storedUsage } from "./stored_usage.ts";

/** What a vendor reported as its charges for one model, and its list price. Nano-dollars. */
export interface VendorReportedCost {
  vendor: string;
  model: string;
  calls: number;
  reportedNanos: bigint;
  /**
   * List price of those calls that have one; `comparedNanos`: what was reported for the same calls.
   */
  listNanos: bigint;
  comparedNanos: bigint;
}

/** Compares the costs that vendors report, which are trusted, with the vendors' own price lists. */
export async function vendorReportedCosts(
  deps: { store: RepricingStore; prices: Prices; registry: Registry },
  accountIds: readonly number[],
  since: Date,
): Promise<VendorReportedCost[]> {
  const sums = new Map<string, VendorReportedCost>();
  for (const accountId of accountIds) {
    for await (const calls of deps.store.read({ accountId, since, basis: "vendor_cost" })) {
      for (const call of calls) {
        const { vendor, model } = call;
        const key = JSON.stringify([vendor, model]);
        const sum = sums.getOrInsert(
          key,
          { vendor, model, calls: 0, reportedNanos: 0n, listNanos: 0n, comparedNanos: 0n },
        );
        const usage = storedUsage(call, deps.registry);
        const reported = (usage && vendorCostNanos(usage)) ?? call.costNanos ?? 0n;
        const priceOf = (name: string) => deps.prices.find(vendor, name, call.createdAt);
        const row = priceOf(model);
        sum.calls++;
        sum.reportedNanos += reported;
        if (!usage || !row || row.fallback === true) continue;
        sum.comparedNanos += reported;
        sum.listNanos += callCost(usage, row, priceOf).nanos;
      }
    }
  }
  return [...sums.values()];
}
