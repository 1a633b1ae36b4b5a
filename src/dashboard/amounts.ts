import { madeOnce } from "../base/made_once.ts";
import { nanosToUsd } from "../base/money.ts";

/** Formats nano-dollars for people: `$1,284.10`, `$0.0421`, `$0.000054`. */
export function usd(nanos: bigint): string {
  const size = nanos < 0n ? -nanos : nanos;
  const sign = nanos < 0n ? "−" : "";
  return `${sign}$${shortened(size)}`;
}

/** Formats a decimal string of US dollars in the same way. */
export function usdText(amount: string): string {
  const [, sign, whole = "0", part = ""] = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(amount) ?? [];
  const size = BigInt(whole) * nanosPerUsd + BigInt(part.padEnd(9, "0"));
  return usd(sign === "-" ? -size : size);
}

/** Formats nano-dollars with every decimal, for the tooltip of a shortened amount. */
export function exactUsd(nanos: bigint): string {
  return `${nanosToUsd(nanos)} USD`;
}

/** Formats whole numbers as `1,284`, and fractions with at most four significant digits. */
export function count(value: number | bigint): string {
  if (typeof value === "bigint" || Number.isSafeInteger(value)) return grouped(String(value));
  return fourDigits().format(value);
}

/** Made on first use: a process's first number format takes ten milliseconds. */
const fourDigits = madeOnce(() => new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 }));

/**
 * Puts a comma before every three digits. The runtime's own format takes ten microseconds per
 * number, and a page may have thousands.
 */
function grouped(digits: string): string {
  const start = digits.startsWith("-") ? 1 : 0;
  let text = digits;
  for (let at = digits.length - 3; at > start; at -= 3) {
    text = `${text.slice(0, at)},${text.slice(at)}`;
  }
  return text;
}

/** Formats a number with three digits, to be read at a glance: `12.3k`, `4.56M`. */
export function compact(value: number | bigint): string {
  const number = Number(value);
  const unit = units.find(({ size }) => Math.abs(number) >= size * 0.9995);
  if (!unit) return count(Math.round(number));
  return `${Number((number / unit.size).toPrecision(3))}${unit.name}`;
}

/** `1.4 MB`. */
export function bytes(size: number): string {
  const step = steps.find(({ at }) => size >= at * 0.9995);
  if (!step) return size === 1 ? "1 byte" : `${size} bytes`;
  const value = size / step.at;
  return `${value.toFixed(value < 9.95 ? 1 : 0)} ${step.name}`;
}

/** `850 ms`, `1.24 s`, `2 min 5 s`; a dash for undefined. */
export function duration(ms: number | undefined): string {
  if (ms === undefined) return "–";
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${Number((ms / 1000).toPrecision(3))} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** `1 row`, `3 rows`. */
export function counted(value: number | bigint, one: string): string {
  return `${count(value)} ${value === 1 || value === 1n ? one : `${one}s`}`;
}

/** Formats a share as `1.2 %`, or as a dash if the whole is zero. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return "–";
  const value = 100 * part / whole;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  return `${value.toFixed(value >= 10 || value === 0 ? 0 : 1)} %`;
}

/** Says how a figure changed from one period to the next; `hasEarlier`: the first had calls. */
export function changeOf(before: number, now: number, hasEarlier: boolean): string {
  if (before === now) return "unchanged";
  if (before === 0) return hasEarlier ? "up from zero" : "no earlier data";
  const share = Math.round(1000 * (now - before) / before) / 10;
  if (share === 0) return "unchanged";
  const size = Math.abs(share);
  if (size >= 1000) return `${compact(now / before)} times what it was`;
  const text = `${size >= 100 ? Math.round(size) : size} %`;
  return share > 0 ? `up ${text}` : `down ${text}`;
}

const nanosPerUsd = 1_000_000_000n;

const units = [
  { size: 1e12, name: "T" },
  { size: 1e9, name: "B" },
  { size: 1e6, name: "M" },
  { size: 1e3, name: "k" },
] as const;

const steps = [
  { at: 1e12, name: "TB" },
  { at: 1e9, name: "GB" },
  { at: 1e6, name: "MB" },
  { at: 1e3, name: "kB" },
] as const;

/**
 * Rounds to two decimals from one dollar up, to four from one cent up, and below to the first two
 * digits that aren't zero. Zeros at the end are cut off after the second decimal.
 */
function shortened(size: bigint): string {
  if (size === 0n) return "0.00";
  const digits = size >= nanosPerUsd ? 2 : size >= 10_000_000n ? 4 : 11 - String(size).length;
  const shownDigits = Math.min(9, digits);
  const unit = 10n ** BigInt(9 - shownDigits);
  const rounded = (size + unit / 2n) / unit * unit;
  const part = String(rounded % nanosPerUsd).padStart(9, "0").slice(0, shownDigits);
  return `${grouped(String(rounded / nanosPerUsd))}.${part.slice(0, 2)}${
    part.slice(2).replace(/0{1,7}$/, "")
  }`;
}
