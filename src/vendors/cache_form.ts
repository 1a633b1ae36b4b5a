import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { Target } from "../dialects/kernel/dialect.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import type { Vendor } from "./registry.ts";

type CacheForm = Pick<Target, "cacheMarks" | "cacheKey">;

/** How a vendor takes marks of what is to be cached, beside the messages dialect's own. */
export function cacheForm(
  vendor: Pick<Vendor, "sharesWith">,
  dialect: DialectName,
  price: PriceRow | undefined,
): CacheForm {
  const form = Object.hasOwn(forms, vendor.sharesWith) ? forms[vendor.sharesWith] : undefined;
  return form?.(dialect, price) ?? {};
}

const forms: Readonly<
  Record<string, (dialect: DialectName, price: PriceRow | undefined) => CacheForm>
> = {
  // Models that have a price for writing (gpt-5.6 and later) take breakpoints; older ones cache by
  // themselves.
  "vendor-b": (_dialect, price) => ({
    cacheKey: true,
    ...(price?.rates.cacheWrite === undefined ? {} : { cacheMarks: "breakpoints" }),
  }),
  // The aggregator hands them on.
  "vendor-f": (dialect) => dialect === "chat" ? { cacheMarks: "ephemeral" } : {},
};
