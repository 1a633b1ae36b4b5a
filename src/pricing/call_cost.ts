import { type BillableUsage, type Cost, costOf, type PriceRow } from "./pricing.ts";
import type { Usage } from "../shared/usage.ts";
import { roundPicoToNano } from "../base/money.ts";

/**
 * The cost of one call in which other models may have taken part (`usage.otherModels`): what they
 * did is taken out of the whole and costs what their own rows say, each with
 * the context tier of its own prompt. A model without a row of its own costs what the asked one
 * does. The sum is rounded once.
 */
export function callCost(
  usage: BillableUsage,
  row: PriceRow,
  priceOf: (model: string) => PriceRow | undefined,
): Cost {
  const priced = (usage.otherModels ?? []).flatMap((other) => {
    const own = priceOf(other.model);
    return own ? [{ usage: inTierOf(other.usage, usage), row: own }] : [];
  });
  if (priced.length === 0) return costOf(usage, row);
  const rest = priced.reduce((left, other) => without(left, other.usage), usage);
  const costs = [costOf(rest, row), ...priced.map((other) => costOf(other.usage, other.row))];
  const pico = costs.reduce((sum, cost) => sum + cost.pico, 0n);
  return { pico, nanos: roundPicoToNano(pico), lines: costs.flatMap((cost) => cost.lines) };
}

/** The vendor tells one service tier and one region for the whole call. */
function inTierOf(usage: Usage, { serviceTier, region }: Usage): Usage {
  return {
    ...usage,
    ...(serviceTier === undefined ? {} : { serviceTier }),
    ...(region === undefined ? {} : { region }),
  };
}

/** Counts of tokens that a whole holds of its parts. */
const shared = [
  "input",
  "cacheRead",
  "cacheWrite",
  "cacheWriteLong",
  "imageInput",
  "output",
  "imageOutput",
] as const;

function without(whole: BillableUsage, part: Usage): BillableUsage {
  const rest: BillableUsage = { ...whole };
  for (const name of shared) {
    const count = whole[name];
    if (count !== undefined) rest[name] = Math.max(0, count - (part[name] ?? 0));
  }
  return rest;
}
