import { asRecord, asString } from "../../kernel/json.ts";

/** The cost in USD that OpenRouter reports in its usage object. */
export function costField(usage: unknown): { vendorCostUsd: string; raw: unknown } | undefined {
  const cost = asRecord(usage).cost;
  const text = typeof cost === "number" && Number.isFinite(cost) ? String(cost) : asString(cost);
  return text === undefined ? undefined : { vendorCostUsd: text, raw: usage };
}
