import { callCost } from "../pricing/call_cost.ts";
import type { InteractionDetail } from "../records/interaction_repository.ts";
import type { CostLine, PriceRow } from "../pricing/pricing.ts";
import { dimensionWords } from "../pricing/table/price_words.ts";
import type { Prices } from "../pricing/table/prices.ts";
import { parseExactly } from "../base/exact_json.ts";
import { roundPicoToNano } from "../base/money.ts";
import type { InteractionSummary } from "../shared/interaction.ts";
import type { Usage } from "../shared/usage.ts";
import type { PriceVersion, PriceVersionStore } from "./price_archive.ts";
import { readPriceRow } from "../pricing/table/price_row.ts";
import type { Registry } from "../vendors/registry.ts";
import { storedUsage } from "./stored_usage.ts";

/** The lines that a stored call's cost is made of, with the row and usage behind them. */
export interface CostLines {
  row: PriceRow;
  usage: Usage;
  lines: CostLine[];
  /** Whether the lines add up to the recorded cost; they don't if a price has changed since. */
  isExact: boolean;
}

/**
 * Builds the function that finds the prices that a stored call was priced with, and what its cost
 * is made of.
 */
export function createCostLines({ priceVersions, archivePrices, registry, prices }: {
  priceVersions: Pick<PriceVersionStore, "find">;
  /** Stores versions that aren't stored yet. */
  archivePrices: () => Promise<void>;
  registry: Registry;
  prices: Pick<Prices, "find">;
}): (detail: InteractionDetail) => Promise<CostLines | undefined> {
  return async (detail) => {
    const { priceVersion, vendor, createdAt } = detail.summary;
    if (priceVersion === null) return undefined;
    let version = await priceVersions.find(priceVersion);
    if (!version) {
      await archivePrices();
      version = await priceVersions.find(priceVersion);
    }
    return costLines(detail, version, registry, (model) => prices.find(vendor, model, createdAt));
  };
}

export interface BilledLine {
  /** A field of price rows, or `vendor_cost`, `set_aside`, `recorded` for a cost as a whole. */
  dimension: string;
  quantity: number;
  /** Pico-dollars per unit, service tier included. */
  unitPico: bigint;
  nanos: bigint;
}

/**
 * Returns the lines of a recorded cost, which add up to it to the nano-dollar; none where it is 0
 * or unknown. A cost that its lines don't add up to is one line, never lines that only look right.
 */
export function billedLines(
  { costNanos, billingBasis }: Pick<InteractionSummary, "costNanos" | "billingBasis">,
  cost: CostLines | undefined,
): BilledLine[] {
  if (costNanos === null || costNanos === 0n) return [];
  const whole = (dimension: string) => [
    { dimension, quantity: 1, unitPico: costNanos * 1000n, nanos: costNanos },
  ];
  if (billingBasis === "vendor_cost") return whole("vendor_cost");
  if (billingBasis === "disputed") return whole("set_aside");
  if (!cost?.isExact) return whole("recorded");
  let pico = 0n;
  // Each line is rounded together with those before it, so that the sum is rounded once.
  return cost.lines.map((line) => {
    const before = roundPicoToNano(pico);
    pico += line.pico;
    return {
      dimension: dimensionWords[line.dimension],
      quantity: line.count,
      unitPico: unitPicoOf(line),
      nanos: roundPicoToNano(pico) - before,
    };
  });
}

/** Returns the listed rate, or, where a factor changed it, what one unit cost. */
function unitPicoOf({ count, ratePico, pico }: CostLine): bigint {
  const listed = Number(ratePico) * count;
  if (Math.abs(listed - Number(pico)) <= Math.max(2, listed * 1e-12)) return ratePico;
  return BigInt(Math.round(Number(pico) / count));
}

/** Undefined where the record doesn't say enough, or its prices are no longer known. */
export function costLines(
  { summary, pricedUsageText }: Pick<InteractionDetail, "summary" | "pricedUsageText">,
  version: PriceVersion | undefined,
  registry: Registry,
  priceOf: (model: string) => PriceRow | undefined = () => undefined,
): CostLines | undefined {
  if (!version || summary.costNanos === null) return undefined;
  try {
    const usage = storedUsage({
      ...summary,
      pricedUsageText,
      cursor: "",
      basis: summary.billingBasis,
      counts: undefined,
    }, registry) ?? countsOf(summary);
    const row = readPriceRow(
      { label: version.label, model: version.model, source: version.source },
      parseExactly(version.fieldsText),
      version.model,
    );
    const { lines, nanos } = callCost(usage, row, priceOf);
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
