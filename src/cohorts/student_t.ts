/**
 * Returns the 97.5 % quantile of Student's t, which two-sided 95 % intervals use. `freedom` > 0 may
 * be fractional (Welch). Above a million it is the normal distribution's quantile.
 */
export function studentT975(freedom: number): number {
  if (freedom > 1e6) return normal975;
  // P(|T| > t) = I_x(freedom/2, 1/2) at x = freedom / (freedom + t²); it falls as t grows.
  let low = normal975;
  let high = 2 * normal975;
  while (twoSided(high, freedom) > 0.05) high *= 2;
  for (let step = 0; step < 100; step++) {
    const middle = (low + high) / 2;
    if (twoSided(middle, freedom) > 0.05) low = middle;
    else high = middle;
  }
  return high;
}

/** The 97.5 % quantile of the standard normal distribution. */
export const normal975 = 1.959963984540054;

function twoSided(t: number, freedom: number): number {
  return incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

/** Computes the regularised incomplete beta function by its continued fraction (DLMF 8.17.22). */
function incompleteBeta(x: number, a: number, b: number): number {
  // Beyond this point the fraction of the mirrored function converges faster.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(
    a * Math.log(x) + b * Math.log1p(-x) - Math.log(a) - (logGamma(a) + logGamma(b) -
      logGamma(a + b)),
  );
  return front * continuedFraction(x, a, b);
}

/** By the modified Lentz method; for the arguments used here, no denominator comes near 0. */
function continuedFraction(x: number, a: number, b: number): number {
  let c = 1;
  let d = 1 / (1 - (a + b) * x / (a + 1));
  let value = d;
  for (let m = 1; m < 10_000; m++) {
    const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    value *= d * c;
    const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    value *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return value;
}

/** Logarithm of the gamma function for x > 0: shifted to x ≥ 10, then Stirling's series. */
function logGamma(x: number): number {
  let shift = 0;
  let at = x;
  for (; at < 10; at++) shift += Math.log(at);
  const inverse = 1 / (at * at);
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / at;
  return (at - 0.5) * Math.log(at) - at + 0.5 * Math.log(2 * Math.PI) + series - shift;
}
