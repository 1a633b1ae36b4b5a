import type { DialectName } from "../../contracts/vendors.ts";
import type { Target } from "../dialects/translator.ts";
import type { PriceRow } from "../domain/pricing.ts";
import type { Vendor } from "./registry.ts";

/**
 * How a vendor takes marks of what is to be cached, beside the messages dialect's own. vendor-b's
 * models that have a price for writing take `prompt_cache_breakpoint` (gpt-5.6 and later); older
 * ones cache by themselves. The aggregator takes `cache_control` in chat, and hands it on.
 */
export function cacheForm(
  vendor: Pick<Vendor, "sharesWith">,
  dialect: DialectName,
  price: PriceRow | undefined,
): Pick<Target, "cacheMarks" | "cacheKey"> {
  if (vendor.sharesWith === "vendor-b") {
    const writes = price?.rates.cacheWrite !== undefined;
    return { cacheKey: true, ...(writes ? { cacheMarks: "breakpoints" } : {}) };
  }
  return vendor.sharesWith === "vendor-f" && dialect === "chat"
    ? { cacheMarks: "cache_control" }
    : {};
}
