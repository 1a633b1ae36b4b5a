/** What a vendor says in `usage.cost` that a call cost, in USD, whichever dialect it was asked in. */
export function vendorCost(cost: unknown): { vendorCostUsd?: string } {
  if (typeof cost !== "number" || !Number.isFinite(cost) || cost < 0) return {};
  // Twelve decimals are pico-dollars: more than any vendor reports, and no exponent form.
  return { vendorCostUsd: cost.toFixed(12) };
}
