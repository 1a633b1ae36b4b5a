import type { PriceRow } from "../../../pricing/pricing.ts";
import type { SessionCall } from "../../../records/interaction_repository.ts";

/** What a run used and cost; money in nano-dollars. */
export interface RunSums {
  readonly calls: number;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly costNanos: bigint;
  /** Calls that no price is known for. */
  readonly unpriced: number;
}

export function runningSums(calls: readonly SessionCall[]): RunSums[] {
  let sums: RunSums = {
    ...{ calls: 0, inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 },
    ...{ costNanos: 0n, unpriced: 0 },
  };
  return calls.map((call) =>
    sums = {
      calls: sums.calls + 1,
      inputTokens: sums.inputTokens + (call.inputTokens ?? 0),
      cacheReadTokens: sums.cacheReadTokens + (call.cacheReadTokens ?? 0),
      cacheWriteTokens: sums.cacheWriteTokens + (call.cacheWriteTokens ?? 0),
      outputTokens: sums.outputTokens + (call.outputTokens ?? 0),
      costNanos: sums.costNanos + (call.costNanos ?? 0n),
      unpriced: sums.unpriced + (call.costNanos === null ? 1 : 0),
    }
  );
}

/**
 * What the vendors' prompt caches saved, in nano-dollars: cached tokens at the difference to the
 * plain price, less what writing cost above it. Negative while writes were dearer than reads saved.
 * At each row's base rates: tiers by length and service are left out.
 */
export function cacheSavedNanos(
  calls: readonly SessionCall[],
  rowOf: (priceVersion: string) => Pick<PriceRow, "rates"> | undefined,
): bigint {
  let pico = 0n;
  for (const { priceVersion, cacheReadTokens, cacheWriteTokens } of calls) {
    const rates = priceVersion === null ? undefined : rowOf(priceVersion)?.rates;
    if (rates?.input === undefined) continue;
    const { input, cacheRead = input, cacheWrite = input } = rates;
    pico += BigInt(cacheReadTokens ?? 0) * (input - cacheRead);
    pico -= BigInt(cacheWriteTokens ?? 0) * (cacheWrite - input);
  }
  return pico / 1000n;
}
