import { callCost } from "../pricing/call_cost.ts";
import type { InteractionDetail } from "../records/interaction_repository.ts";
import type { CostLine, PriceRow } from "../pricing/pricing.ts";
import type { Usage } from "../shared/usage.ts";
import type { PriceVersion } from "./price_archive.ts";
import { readPriceRow } from "../pricing/table/price_row.ts";
import type { Registry } from "../vendors/registry.ts";
import { storedUsage } from "./stored_usage.ts";

/** What a stored call's cost is made of. */
export interface CostLines {
  row: PriceRow;
  usage: Usage;
  lines: CostLine[];
  /** Whether the lines come to the recorded cost; they don't where other models took part. */
  isExact: boolean;
}

/** Undefined where the record doesn't say enough, or its prices are unknown by now. */
export function costLines(
  { summary, pricedUsageText }: Pick<InteractionDetail, "summary" | "pricedUsageText">,
  version: PriceVersion | undefined,
  registry: Registry,
): CostLines | undefined {
  if (!version || summary.costNanos === null) return undefined;
  try {
    const usage = storedUsage(
      { ...summary, pricedUsageText, cursor: "", basis: summary.billingBasis, counts: undefined },
      registry,
    ) ?? countsOf(summary);
    const row = readPriceRow(
      { label: version.label, model: version.model, source: version.source },
      JSON.parse(version.fieldsText),
      version.model,
    );
    const { lines, nanos } = callCost(usage, row, () => undefined);
    return { row, usage, lines, isExact: nanos === summary.costNanos };
  } catch {
    return undefined;
  }
}

function countsOf(summary: InteractionDetail["summary"]): Usage {
  const part = (name: keyof Usage, count: number | null) => count === null ? {} : { [name]: count };
  return {
    input: summary.inputTokens ?? 0,
    output: summary.outputTokens ?? 0,
    ...part("cacheRead", summary.cacheReadTokens),
    ...part("cacheWrite", summary.cacheWriteTokens),
    ...part("reasoning", summary.reasoningTokens),
  };
}
