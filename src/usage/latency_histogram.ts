/**
 * Counts of latencies in fixed buckets that grow by 2^(1/4): the first is below 8 ms, then there
 * are four per doubling, and the last is from 2^20 ms. Bounds are rounded up to whole milliseconds,
 * so that every machine counts alike. A percentile is at most 19 % off, the width of a bucket, and
 * typically 2 %, since it is interpolated.
 */
export class LatencyHistogram {
  /** Calls per bucket, the fastest first; further buckets are empty. */
  readonly counts: readonly number[];
  readonly calls: number;

  constructor(counts: readonly number[]) {
    this.counts = counts;
    this.calls = counts.reduce((sum, count) => sum + count, 0);
  }

  /** Parses the store's sums: ten decimal digits per bucket, the fastest last. */
  static parse(digits: string): LatencyHistogram {
    const counts: number[] = [];
    for (let end = digits.length; end > 0; end -= digitsEach) {
      counts.push(Number(digits.slice(Math.max(0, end - digitsEach), end)));
    }
    return new LatencyHistogram(counts);
  }

  /** Returns one call as a number that the store can sum up. */
  static digitsOfOne(latencyMs: number): bigint {
    let interval = 0;
    while (interval < lastInterval && latencyMs >= lowerEnd(interval + 1)) interval++;
    return 10n ** BigInt(digitsEach * interval);
  }

  /**
   * Returns the latency in ms that `share` (0 to 1) of the calls don't exceed; undefined without
   * calls.
   */
  percentile(share: number): number | undefined {
    if (this.calls === 0) return undefined;
    const wanted = share * this.calls;
    let passed = 0;
    for (const [interval, count] of this.counts.entries()) {
      if (count > 0 && passed + count >= wanted) {
        const [from, to] = [lowerEnd(interval), lowerEnd(interval + 1)];
        return Math.round(from + (to - from) * Math.max(0, (wanted - passed) / count));
      }
      passed += count;
    }
    return undefined;
  }

  plus(other: LatencyHistogram): LatencyHistogram {
    const length = Math.max(this.counts.length, other.counts.length);
    return new LatencyHistogram(
      Array.from({ length }, (_, at) => (this.counts[at] ?? 0) + (other.counts[at] ?? 0)),
    );
  }
}

const digitsEach = 10;
/** The bucket from 2^20 ms. */
const lastInterval = 69;

/** Returns the lower bound of a bucket in whole ms. */
function lowerEnd(interval: number): number {
  return interval === 0 ? 0 : Math.ceil(8 * 2 ** ((interval - 1) / 4) - 1e-6);
}
