import type { Sums } from "../shared/call_sums.ts";
import { normal975, studentT975 } from "./student_t.ts";

export interface Interval {
  low95: number;
  high95: number;
}

/** A mean and its spread; `error` is the standard error, undefined with fewer than two values. */
export interface Mean {
  mean: number;
  error: number | undefined;
  /** Degrees of freedom. */
  freedom: number;
}

/** Returns the mean; undefined without values. */
export function meanOf({ count, sum, sumOfSquares }: Sums): Mean | undefined {
  if (count === 0n) return undefined;
  const mean = Number(sum) / Number(count);
  if (count === 1n) return { mean, error: undefined, freedom: 0 };
  // Exact up to here, so large values that differ by little lose no digits to cancellation.
  const spread = count * sumOfSquares - sum * sum;
  const variance = Number(spread) / Number(count * (count - 1n));
  return { mean, error: Math.sqrt(variance / Number(count)), freedom: Number(count - 1n) };
}

/** Returns the mean's interval by Student's t. */
export function meanInterval(mean: Mean | undefined): Interval | undefined {
  if (mean?.error === undefined) return undefined;
  const reach = studentT975(mean.freedom) * mean.error;
  return { low95: mean.mean - reach, high95: mean.mean + reach };
}

/** Returns the interval of the difference `a` − `b`, by Welch's t. */
export function welchInterval(a: Mean | undefined, b: Mean | undefined): Interval | undefined {
  if (a?.error === undefined || b?.error === undefined) return undefined;
  const difference = a.mean - b.mean;
  const [first, second] = [a.error ** 2, b.error ** 2];
  // Without any spread the interval is the difference itself.
  if (first + second === 0) return { low95: difference, high95: difference };
  const freedom = (first + second) ** 2 /
    (first ** 2 / a.freedom + second ** 2 / b.freedom);
  const reach = studentT975(freedom) * Math.sqrt(first + second);
  return { low95: difference - reach, high95: difference + reach };
}

/**
 * Returns the interval of a Poisson distribution's mean from one observed count, by Byar's
 * approximation. The count may be fractional.
 */
export function countInterval(count: number): Interval {
  const bound = (at: number, sign: number) =>
    at * (1 - 1 / (9 * at) + sign * normal975 / (3 * Math.sqrt(at))) ** 3;
  return { low95: count > 0 ? Math.max(0, bound(count, -1)) : 0, high95: bound(count + 1, 1) };
}

/** Returns the interval of the proportion `count` of `total` > 0, by Wilson's score. */
export function shareInterval(count: number, total: number): Interval {
  const share = count / total;
  const square = normal975 ** 2 / total;
  const middle = (share + square / 2) / (1 + square);
  const reach = normal975 / (1 + square) *
    Math.sqrt((share * (1 - share) + square / 4) / total);
  // At 0 and 1 the exact limit is 0 or 1; this avoids a rounding error.
  return {
    low95: count === 0 ? 0 : middle - reach,
    high95: count === total ? 1 : middle + reach,
  };
}

/** The most that a ratio's limits may differ from it, as a factor: wider intervals say nothing, and
 * soon overflow. */
const maxFactor = 1e6;

/**
 * Returns the interval of a positive ratio whose logarithm has this variance. Undefined where it
 * would be uselessly wide, e.g. where corrections leave a cent of the posted revenue.
 */
export function ratioInterval(ratio: number, logVariance: number): Interval | undefined {
  const factor = Math.exp(normal975 * Math.sqrt(logVariance));
  return factor > maxFactor ? undefined : { low95: ratio / factor, high95: ratio * factor };
}

/**
 * Returns the interval of the difference of two figures from their own intervals, which may be
 * asymmetric (MOVER: Zou and Donner 2008, "Construction of confidence limits about effect
 * measures"). For two proportions with Wilson's limits this is Newcombe's interval.
 */
export function differenceInterval(
  a: { at: number; interval: Interval | undefined },
  b: { at: number; interval: Interval | undefined },
): Interval | undefined {
  if (!a.interval || !b.interval) return undefined;
  const difference = a.at - b.at;
  return {
    low95: difference - Math.hypot(a.at - a.interval.low95, b.interval.high95 - b.at),
    high95: difference + Math.hypot(a.interval.high95 - a.at, b.at - b.interval.low95),
  };
}
