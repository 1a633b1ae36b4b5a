import { asString, isRecord } from "../../kernel/json.ts";

/** What the aggregator says it charged, in USD: the `cost` of its usage object. */
export function costField(usage: unknown): { vendorCostUsd: string; raw: unknown } | undefined {
  const cost = isRecord(usage) ? usage.cost : undefined;
  const text = typeof cost === "number" && Number.isFinite(cost) ? String(cost) : asString(cost);
  return text === undefined ? undefined : { vendorCostUsd: text, raw: usage };
}
