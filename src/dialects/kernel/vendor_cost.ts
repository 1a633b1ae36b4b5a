import { asRecord, type JsonRecord } from "./json.ts";

/**
 * Returns the cost of a call in USD that a vendor reports in its usage, in any dialect: `cost`, a
 * number or a number as text, or xAI's `cost_in_usd_ticks`. If OpenRouter used a key that its
 * customer stored there (`is_byok`), `cost` is OpenRouter's fee alone, often 0, and the charge of the
 * key's vendor is added; without a report of that charge the cost is unknown. OpenRouter has free
 * models; at xAI a cost of 0 is no report, since nothing is free there.
 */
export function vendorCost(usage: JsonRecord): { vendorCostUsd?: string } {
  const isByok = usage.is_byok === true;
  const charge = isByok ? amountOf(asRecord(usage.cost_details).upstream_inference_cost) : 0;
  const cost = usage.cost === undefined
    ? (amountOf(usage.cost_in_usd_ticks) || NaN) / ticksPerUsd
    : amountOf(usage.cost);
  const sum = cost + charge;
  // Twelve decimals are more than any vendor reports, and avoid the exponent form.
  return Number.isFinite(sum) ? { vendorCostUsd: sum.toFixed(12) } : {};
}

const ticksPerUsd = 1e10;

/** Returns NaN for anything but an amount. */
function amountOf(value: unknown): number {
  const isText = typeof value === "string" && /^\d{1,9}(\.\d{1,20})?$/.test(value);
  const amount = isText ? Number(value) : value;
  return typeof amount === "number" && amount >= 0 ? amount : NaN;
}
