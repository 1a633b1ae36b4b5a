import { type PriceRow, rateAt } from "../pricing.ts";
import type { Dimension } from "../usage_parts.ts";

/** A price that two rows disagree on, in pico-dollars per unit. */
export interface PriceDifference {
  dimension: Dimension;
  /** The first prompt size, in tokens, that it holds for. */
  fromTokens: number;
  /** The last prompt size that it holds for; undefined: no end. */
  toTokens?: number;
  ours: bigint;
  theirs: bigint;
}

/**
 * Returns where the prices of two rows of one model differ, however they are written: for each
 * dimension that either row has a price for, at each prompt size at which a price may change. A
 * missing price counts as the one that stands in for it (input for a cache read, …).
 */
export function compareRows(ours: PriceRow, theirs: PriceRow): PriceDifference[] {
  const sizes = sizesOf([ours, theirs]);
  const differences: PriceDifference[] = [];
  for (const dimension of dimensionsOf([ours, theirs])) {
    let open: PriceDifference | undefined;
    for (const [at, fromTokens] of sizes.entries()) {
      const rates = {
        ours: rateAt(ours, dimension, fromTokens),
        theirs: rateAt(theirs, dimension, fromTokens),
      };
      if (rates.ours === rates.theirs) open = undefined;
      else if (open === undefined || open.ours !== rates.ours || open.theirs !== rates.theirs) {
        differences.push(open = { dimension, fromTokens, ...rates });
      }
      const next = sizes[at + 1];
      if (open && next !== undefined) open.toTokens = next - 1;
      else if (open) delete open.toTokens;
    }
  }
  return differences;
}

/** Prompt sizes at which the prices of any of the rows begin to hold. */
export function sizesOf(rows: readonly PriceRow[]): number[] {
  const sizes = rows.flatMap((row) =>
    row.contextTiers.map((tier) => tier.inclusive ? tier.threshold : tier.threshold + 1)
  );
  return [...new Set([0, ...sizes])].sort((one, other) => one - other);
}

function dimensionsOf(rows: readonly PriceRow[]): Dimension[] {
  const named = rows.flatMap((row) => [row, ...row.contextTiers])
    .flatMap(({ rates }) => Object.keys(rates))
    .filter((name) => name !== "perImage");
  return [...new Set(named)].sort() as Dimension[];
}
