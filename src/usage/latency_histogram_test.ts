import assert from "@std/assert";
import { Random } from "../../tests/support/random.ts";
import { LatencyHistogram } from "./latency_histogram.ts";

/** As the store counts them. */
function digitsOf(latencies: readonly number[]): string {
  const intervalOf = (ms: number) => {
    let interval = 0;
    while (interval < 69 && ms >= Math.ceil(8 * 2 ** (interval / 4) - 1e-6)) interval++;
    return interval;
  };
  return String(latencies.reduce((sum, ms) => sum + 10n ** BigInt(10 * intervalOf(ms)), 0n));
}

Deno.test("percentiles are at most 19 % off, whatever the latencies", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = new Random(seed);
    const spread = random.next() * 5;
    const latencies = Array.from(
      { length: 1 + random.below(400) },
      () => Math.round(20 + Math.exp(random.next() * spread) * 50),
    );
    latencies.sort((a, b) => a - b);
    const histogram = LatencyHistogram.parse(digitsOf(latencies));
    assert.equal(histogram.calls, latencies.length);
    for (const share of [0.5, 0.95, 0.99, 1]) {
      const exact = latencies[Math.ceil(share * latencies.length) - 1]!;
      const told = histogram.percentile(share)!;
      assert.ok(Math.abs(told - exact) <= 1 + 0.19 * exact, `${seed}: ${told} for ${exact}`);
    }
  }
});

Deno.test("histograms are added interval by interval; of no calls nothing is said", () => {
  const [one, other] = [[10, 500, 500], [500, 90_000]];
  const sum = LatencyHistogram.parse(digitsOf(one)).plus(LatencyHistogram.parse(digitsOf(other)));
  assert.deepEqual(sum.counts, LatencyHistogram.parse(digitsOf([...one, ...other])).counts);
  assert.equal(sum.calls, 5);
  assert.equal(LatencyHistogram.parse("0").percentile(0.5), undefined);
  assert.equal(new LatencyHistogram([]).percentile(0.95), undefined);
});
