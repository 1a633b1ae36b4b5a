import { type BillableUsage, type Cost, costOf, type PriceRow } from "./pricing.ts";
import type { Usage } from "../shared/usage.ts";
import { roundPicoToNano } from "../base/money.ts";

/**
 * Returns the cost of one call, in which other models may have taken part (`usage.otherModels`).
 * Each of these passes is subtracted from the whole and priced by its own model's row, with the
 * context tier of its own prompt. A model without a row is priced as the one that was asked. A price
 * per request is the asked model's, as these passes are no requests. The sum is rounded once.
 */
export function callCost(
  usage: BillableUsage,
  row: PriceRow,
  priceOf: (model: string) => PriceRow | undefined,
): Cost {
  const priced = (usage.otherModels ?? []).flatMap((other) => {
    const own = other.model === undefined ? row : priceOf(other.model);
    return own ? [{ usage: { ...inTierOf(other.usage, usage), requests: 0 }, row: own }] : [];
  });
  const rest = priced.reduce((left, other) => without(left, other.usage), usage);
  const costs = [costOf(rest, row), ...priced.map((other) => costOf(other.usage, other.row))];
  const pico = costs.reduce((sum, cost) => sum + cost.pico, 0n);
  return { pico, nanos: roundPicoToNano(pico), lines: costs.flatMap((cost) => cost.lines) };
}

/** Adds the call's service tier and region, which vendors report only for the whole call. */
function inTierOf(usage: Usage, { serviceTier, region }: Usage): Usage {
  return {
    ...usage,
    ...(serviceTier === undefined ? {} : { serviceTier }),
    ...(region === undefined ? {} : { region }),
  };
}

/** Token counts in which a call's usage includes the other models' usage. */
const shared = [
  "input",
  "cacheRead",
  "cacheWrite",
  "cacheWriteLong",
  "imageInput",
  "output",
  "reasoning",
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
