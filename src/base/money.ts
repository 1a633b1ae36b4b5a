/** Decimal digits of the two money units: 1 USD = 1e9 nano-dollars = 1e12 pico-dollars. */
export const nanoDigits = 9;
export const picoDigits = 12;

export interface ParseUsdOptions {
  /** Accepts `7.5e-08`, as vendors write numbers. Operators and callers write plain decimals. */
  allowExponent?: boolean;
  /** Accepts a leading minus sign. */
  allowNegative?: boolean;
  /**
   * Digits beyond `scale` are an error (default), or rounded: up (away from 0), down (towards 0) or to
   * the nearest unit (half away from 0). Only for vendors' numbers, and for figures that callers
   * computed themselves.
   */
  excess?: "reject" | "up" | "down" | "nearest";
}

/**
 * Parses a decimal string in USD to a whole number of units of 10^-`scale` USD: `parseUsd("0.25",
 * 9)` is 250000000n. Strict: digits, optionally a point and digits. Throws a RangeError whose
 * message says what was expected and can be shown after the name of the field.
 */
export function parseUsd(text: string, scale: number, options: ParseUsdOptions = {}): bigint {
  if (text.length > maxLength) throw new RangeError(`expected at most ${maxLength} characters`);
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  const [, sign = "", whole = "", fraction = "", exponent] = match ?? [];
  const allowed = match !== null && (exponent === undefined || options.allowExponent === true) &&
    (sign === "" || options.allowNegative === true);
  if (!allowed) {
    throw new RangeError(`expected a decimal string such as "0.25", got ${JSON.stringify(text)}`);
  }
  const digits = BigInt(whole + fraction);
  const shift = scale + Number(exponent ?? 0) - fraction.length;
  const units = shift >= 0
    ? digits * 10n ** BigInt(shift)
    : dropDigits(digits, -shift, options.excess ?? "reject", { text, scale });
  return sign === "-" ? -units : units;
}

/**
 * The form of amounts that people and programs enter, for error messages; contracts say the same.
 */
export const statedUsdForm = "an amount in US dollars such as 2.50, at most 1000000000";

/**
 * Parses an entered amount to nano-dollars. Throws a RangeError unless it has the form
 * `statedUsdForm`.
 */
export function parseStatedUsd(text: string): bigint {
  const nanos = parseUsd(text, nanoDigits);
  // More than any account will hold, and far below the limit of a database column.
  if (nanos > 1_000_000_000n * 1_000_000_000n) throw new RangeError(`expected ${statedUsdForm}`);
  return nanos;
}

/** `parseStatedUsd` that throws the error made by `refuse` from what was expected. */
export function readStatedUsd(text: string, refuse: (expected: string) => Error): bigint {
  try {
    return parseStatedUsd(text);
  } catch {
    throw refuse(`expected ${statedUsdForm}`);
  }
}

/** Nano-dollars as a decimal string in USD with nine decimals and a sign only when negative. */
export function nanosToUsd(nanos: bigint): string {
  const digits = (nanos < 0n ? -nanos : nanos).toString().padStart(nanoDigits + 1, "0");
  const point = digits.length - nanoDigits;
  return `${nanos < 0n ? "-" : ""}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/**
 * The one rounding between price and balance: pico- to nano-dollars, half up (towards +∞ at .5).
 * Applied once per call, on the sum.
 */
export function roundPicoToNano(pico: bigint): bigint {
  return floorDivide(pico + 500n, 1000n);
}

/** Longest accepted text; keeps 10^n small whatever a file or vendor sends. */
const maxLength = 64;

function dropDigits(
  digits: bigint,
  count: number,
  excess: NonNullable<ParseUsdOptions["excess"]>,
  context: { text: string; scale: number },
): bigint {
  const unit = 10n ** BigInt(count);
  if (excess === "up") return (digits + unit - 1n) / unit;
  if (excess === "down") return digits / unit;
  if (excess === "nearest") return (digits + unit / 2n) / unit;
  // Trailing zeros are not excess digits: "1.5000000000" is 1.5.
  if (digits % unit === 0n) return digits / unit;
  throw new RangeError(
    `expected at most ${context.scale} decimals, got ${JSON.stringify(context.text)}`,
  );
}

/** Division that rounds towards −∞, where bigint's own rounds towards 0. `divisor` > 0. */
function floorDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value % divisor < 0n ? quotient - 1n : quotient;
}
