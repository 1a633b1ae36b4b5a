import { asRecord, type JsonRecord } from "./json.ts";

/**
 * The cost of a call in USD that a vendor reports in its usage, in any dialect: `cost`, a number or
 * a number as text. Where OpenRouter used a key that its customer stored there (`is_byok`), `cost` is
 * its fee alone, often 0, and what the key's vendor takes is added; where it doesn't report that, the
 * cost is unknown.
 */
export function vendorCost(usage: JsonRecord): { vendorCostUsd?: string } {
  const cost = amountOf(usage.cost);
  const besides = usage.is_byok === true
    ? amountOf(asRecord(usage.cost_details).upstream_inference_cost)
    : 0;
  const sum = amountOf((cost ?? NaN) + (besides ?? NaN));
  // Twelve decimals are more than any vendor reports, and avoid the exponent form.
  return sum === undefined ? {} : { vendorCostUsd: sum.toFixed(12) };
}

/** Undefined for anything else than an amount. */
function amountOf(cost: unknown): number | undefined {
  const isText = typeof cost === "string" && /^\d{1,9}(\.\d{1,20})?$/.test(cost);
  const amount = isText ? Number(cost) : cost;
  return typeof amount === "number" && Number.isFinite(amount) && amount >= 0 ? amount : undefined;
}
