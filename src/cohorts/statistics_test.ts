import assert from "@std/assert";
import type { Sums } from "../shared/call_sums.ts";
import {
  countInterval,
  differenceInterval,
  meanInterval,
  meanOf,
  ratioInterval,
  welchInterval,
} from "./statistics.ts";

function sumsOf(values: readonly (number | bigint)[]): Sums {
  const exact = values.map(BigInt);
  return {
    count: BigInt(values.length),
    sum: exact.reduce((sum, one) => sum + one, 0n),
    sumOfSquares: exact.reduce((sum, one) => sum + one * one, 0n),
  };
}

function near(actual: number | undefined, expected: number, within = 0.0005): void {
  assert.ok(
    actual !== undefined && Math.abs(actual - expected) <= within,
    `${actual}, not ${expected}`,
  );
}

Deno.test("a mean's interval is Student's", () => {
  // Σx = 108, Σx² = 2854.
  const mean = meanOf(sumsOf([4, 8, 15, 16, 23, 42]));
  near(mean?.mean, 18);
  near(mean?.error, Math.sqrt((2854 - 108 * 108 / 6) / 5 / 6), 1e-12);
  const interval = meanInterval(mean);
  // 18 ± 2.57058 · 5.50757, as Python's statistics module has it.
  near(interval?.low95, 3.84234, 0.00002);
  near(interval?.high95, 32.15766, 0.00002);
});

Deno.test("of large values that differ by little the spread is exact", () => {
  const mean = meanOf(sumsOf([10n ** 18n, 10n ** 18n + 2n, 10n ** 18n + 4n]));
  near(mean?.error, Math.sqrt(4 / 3), 1e-12);
});

Deno.test("without values there is no mean, with one no interval", () => {
  assert.equal(meanOf(sumsOf([])), undefined);
  const one = meanOf(sumsOf([7]));
  assert.equal(one?.mean, 7);
  assert.equal(meanInterval(one), undefined);
  assert.equal(welchInterval(one, meanOf(sumsOf([1, 2]))), undefined);
});

Deno.test("Welch's interval agrees with a published example", () => {
  // Wikipedia, "Welch's t-test", second example, in tenths: t = −1.57 with 9.9 degrees of freedom.
  const a = meanOf(sumsOf([172, 209, 226, 181, 217, 214, 235, 242, 147, 218]))!;
  const b = meanOf(
    sumsOf([
      ...[215, 228, 210, 230, 216, 236, 225, 207, 234, 218],
      ...[207, 217, 215, 225, 236, 215, 225, 235, 215, 218],
    ]),
  )!;
  const difference = a.mean - b.mean;
  const error = Math.hypot(a.error!, b.error!);
  near(difference / error, -1.57, 0.005);
  const interval = welchInterval(a, b)!;
  near((interval.low95 + interval.high95) / 2, difference, 1e-9);
  // The printed quantiles of 10 and 9 degrees of freedom, a tenth of the way.
  near((interval.high95 - difference) / error, 2.2281 + 0.0953 * (2.2622 - 2.2281), 0.001);
});

Deno.test("means without any spread differ by what they differ, surely", () => {
  const a = meanOf(sumsOf([5, 5, 5]));
  const b = meanOf(sumsOf([3, 3]));
  assert.deepEqual(welchInterval(a, b), { low95: 2, high95: 2 });
});

Deno.test("a count's interval is near the exact one of Poisson", () => {
  // Exact limits from printed tables (Garwood).
  const exact: readonly [number, number, number][] = [
    [0, 0, 3.689],
    [1, 0.0253, 5.572],
    [5, 1.624, 11.668],
    [10, 4.795, 18.39],
    [30, 20.24, 42.83],
    [100, 81.36, 121.63],
  ];
  for (const [count, low, high] of exact) {
    const interval = countInterval(count);
    near(interval.low95, low, 0.06);
    near(interval.high95, high, 0.06);
  }
});

Deno.test("a ratio's interval has the same factor on both sides", () => {
  const { low95, high95 } = ratioInterval(10, 0.04)!;
  near(high95, 10 * Math.exp(1.959964 * 0.2), 1e-4);
  near(low95 * high95, 100, 1e-9);
});

Deno.test("a difference's interval takes each side from the limits that reach there", () => {
  const a = { at: 10, interval: { low95: 7, high95: 16 } };
  const b = { at: 4, interval: { low95: 2, high95: 8 } };
  assert.deepEqual(differenceInterval(a, b), { low95: 6 - 5, high95: 6 + Math.hypot(6, 2) });
  assert.equal(differenceInterval(a, { at: 4, interval: undefined }), undefined);
});
