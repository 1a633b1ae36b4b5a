import { repriced, type RepricingStore, type UnchangedReason } from "./repricing.ts";
import type { CorrectedCall, PricedCall, PricedCallQuery } from "../records/analytics_store.ts";
import type { Prices } from "../pricing/table/prices.ts";
import type { Registry } from "../vendors/registry.ts";
import { storedUsage } from "./stored_usage.ts";

/** The result of repricing one model's calls; amounts in nano-dollars, over all its calls. */
export interface ModelCorrection {
  vendor: string;
  model: string;
  calls: number;
  corrected: number;
  oldCostNanos: bigint;
  newCostNanos: bigint;
  /** What the balances are charged in addition; below zero: refunded. */
  chargedNanos: bigint;
  unchanged: Record<UnchangedReason, number>;
}

/** What was done to each model's calls, by model. */
export type ModelCorrections = Map<string, ModelCorrection>;

/**
 * Prices the stored calls of these accounts again at `prices`, each by the row of its own time, and
 * writes what changed, except in a dry run, which runs the same code. Memory stays flat: one small
 * batch of rows, and one sum per model; if it throws, `sums` hold what was done by then. `prices`
 * must hold no learned rows, since a vendor's list of today says nothing about a call of last month.
 */
export async function reprice(
  deps: { store: RepricingStore; prices: Prices; registry: Registry },
  queries: readonly PricedCallQuery[],
  dryRun: boolean,
  sums: ModelCorrections = new Map(),
): Promise<ModelCorrection[]> {
  for (const query of queries) {
    for await (const calls of deps.store.read(query)) {
      const outcomes = calls.map((call) => ({ call, outcome: repricedCall(deps, call) }));
      const corrections = outcomes.flatMap(({ outcome }) => isCorrection(outcome) ? [outcome] : []);
      const written = dryRun
        ? new Set(corrections.map(({ call }) => call.transactionId))
        : await deps.store.correct(query.accountId, corrections);
      for (const { call, outcome } of outcomes) add(sumOf(sums, call), call, outcome, written);
    }
  }
  return [...sums.values()];
}

type Outcome = ReturnType<typeof repriced>;

function isCorrection(outcome: Outcome): outcome is CorrectedCall {
  return typeof outcome === "object";
}

function repricedCall(
  { prices, registry }: { prices: Prices; registry: Registry },
  call: PricedCall,
): Outcome {
  const priceOf = (model: string) => prices.find(call.vendor, model, call.createdAt);
  return repriced(call, storedUsage(call, registry), priceOf(call.model), priceOf);
}

function sumOf(sums: ModelCorrections, { vendor, model }: PricedCall): ModelCorrection {
  return sums.getOrInsertComputed(JSON.stringify([vendor, model]), () => ({
    vendor,
    model,
    calls: 0,
    corrected: 0,
    oldCostNanos: 0n,
    newCostNanos: 0n,
    chargedNanos: 0n,
    unchanged: { vendor_cost: 0, disputed: 0, no_usage: 0, no_price: 0, list_price: 0 },
  }));
}

function add(
  sum: ModelCorrection,
  call: PricedCall,
  outcome: Outcome,
  written: ReadonlySet<string>,
): void {
  const old = call.costNanos ?? 0n;
  // A call that was changed by others meanwhile counts as it was read.
  const corrected = isCorrection(outcome) && written.has(call.transactionId) ? outcome : undefined;
  sum.calls++;
  sum.oldCostNanos += old;
  sum.newCostNanos += corrected?.costNanos ?? old;
  if (corrected) {
    sum.corrected++;
    sum.chargedNanos += corrected.chargedNanos - (call.postedNanos ?? call.chargedNanos);
  } else if (typeof outcome === "string" && outcome !== "same") sum.unchanged[outcome]++;
}
