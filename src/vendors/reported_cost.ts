import type { PriceRow } from "../pricing/pricing.ts";
import { operatorSource } from "../pricing/table/prices_file.ts";
import type { Vendor } from "./registry.ts";

/** Whether a call costs what the vendor reports, rather than what its price row says. */
export function chargesReport(
  { reportsCost, admitsUnpriced }: Pick<Vendor, "reportsCost" | "admitsUnpriced">,
  price: PriceRow | undefined,
): boolean {
  return reportsCost && (admitsUnpriced || price?.source !== operatorSource);
}
