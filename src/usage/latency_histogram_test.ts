import assert from "@std/assert";
import { Random } from "../../tests/support/random.ts";
import { LatencyHistogram } from "./latency_histogram.ts";

/** As the store counts them. */
function digitsOf(latencies: readonly number[]): string {
  return String(latencies.reduce((sum, ms) => sum + LatencyHistogram.digitsOfOne(ms), 0n));
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

Deno.test("histograms are added interval by interval; without calls there is no value", () => {
  const [one, other] = [[10, 500, 500], [500, 90_000]];
  const sum = LatencyHistogram.parse(digitsOf(one)).plus(LatencyHistogram.parse(digitsOf(other)));
  assert.deepEqual(sum.counts, LatencyHistogram.parse(digitsOf([...one, ...other])).counts);
  assert.equal(sum.calls, 5);
  assert.equal(LatencyHistogram.parse("0").percentile(0.5), undefined);
  assert.equal(new LatencyHistogram([]).percentile(0.95), undefined);
});

Deno.test("intervals are limited by these milliseconds, whatever the machine computes", () => {
  const limits = [
    ...[8, 10, 12, 14, 16, 20, 23, 27, 32, 39, 46, 54, 64, 77, 91, 108, 128, 153, 182, 216, 256],
    ...[305, 363, 431, 512, 609, 725, 862, 1024, 1218, 1449, 1723, 2048, 2436, 2897, 3445, 4096],
    ...[
      4871,
      5793,
      6889,
      8192,
      9742,
      11586,
      13778,
      16384,
      19484,
      23171,
      27555,
      32768,
      38968,
      46341,
    ],
    ...[55109, 65536, 77936, 92682, 110218, 131072, 155872, 185364, 220436, 262144, 311744, 370728],
    ...[440872, 524288, 623488, 741456, 881744, 1048576],
  ];
  const intervalOf = (ms: number) => (String(LatencyHistogram.digitsOfOne(ms)).length - 1) / 10;
  assert.deepEqual([intervalOf(0), intervalOf(-5), intervalOf(1e9)], [0, 0, limits.length]);
  for (const [at, limit] of limits.entries()) {
    assert.deepEqual([intervalOf(limit - 1), intervalOf(limit)], [at, at + 1]);
  }
});
