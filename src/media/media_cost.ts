import type { OperationContext } from "./operations.ts";

/** What a call costs by what its meter was told, in nano-dollars; null when no price is known. */
export function costOfCall(desk: OperationContext): bigint | null {
  return desk.meter.bill({
    status: "completed",
    mode: desk.vendorWords.mode,
    setAsideNanos: desk.setAsideNanos,
    price: desk.price,
    priceOf: () => undefined,
    vendorCostBelieved: desk.target.vendor.reportsCost,
    promptTokens: () => 0,
  }).costNanos;
}
