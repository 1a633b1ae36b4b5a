import type { PriceRow } from "../../../pricing/pricing.ts";
import type { SessionCall } from "../../../records/interaction_repository.ts";

/** What calls of a session used and cost; money in nano-dollars. */
export interface RunSums {
  readonly calls: number;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly costNanos: bigint;
  /** Number of calls without a known price. */
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
 * Returns what the vendors' prompt caches saved, in nano-dollars: for tokens read from a cache the
 * difference from the input price, minus what writing to it cost above that price. Negative if
 * writes cost more than reads saved. Uses each price row's base rates: tiers by length and service
 * are ignored.
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
