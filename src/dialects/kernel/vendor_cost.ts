/** The cost of a call in USD that a vendor reports in `usage.cost`, in any dialect. */
export function vendorCost(cost: unknown): { vendorCostUsd?: string } {
  if (typeof cost !== "number" || !Number.isFinite(cost) || cost < 0) return {};
  // Twelve decimals are more than any vendor reports, and avoid the exponent form.
  return { vendorCostUsd: cost.toFixed(12) };
}
