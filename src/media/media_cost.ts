import type { OperationContext } from "./operations.ts";

/** What a call costs by what its meter was told, in nano-dollars; null when no price is known. */
export function costOfCall(ctx: OperationContext): bigint | null {
  return ctx.meter.bill({
    status: "completed",
    mode: ctx.vendorWords.mode,
    setAsideNanos: ctx.setAsideNanos,
    price: ctx.price,
    priceOf: () => undefined,
    vendorCostBelieved: ctx.target.vendor.reportsCost,
    promptTokens: () => 0,
  }).costNanos;
}
