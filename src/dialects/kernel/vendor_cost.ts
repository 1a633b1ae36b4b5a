/**
 * The cost of a call in USD that a vendor reports in `usage.cost`, in any dialect: a number, or a
 * number as text. Anything else is ignored.
 */
export function vendorCost(cost: unknown): { vendorCostUsd?: string } {
  const isText = typeof cost === "string" && /^\d{1,9}(\.\d{1,20})?$/.test(cost);
  const amount = isText ? Number(cost) : cost;
  if (typeof amount !== "number" || !Number.isFinite(amount) || amount < 0) return {};
  // Twelve decimals are more than any vendor reports, and avoid the exponent form.
  return { vendorCostUsd: amount.toFixed(12) };
}
