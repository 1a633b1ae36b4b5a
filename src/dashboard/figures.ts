import { madeOnce } from "../base/made_once.ts";
import { count } from "./amounts.ts";

/** `$1,234.56`; below a dollar as many decimals as two digits take: `$0.0042`. */
export function money(nanos: bigint): string {
  const usd = Number(nanos) / 1e9;
  const size = Math.abs(usd);
  if (size === 0 || size >= 1) return decimals(usd, 2);
  const digits = Math.min(9, 1 - Math.floor(Math.log10(size)));
  return decimals(usd, Math.max(2, digits));
}

/** `12.3k`, `4.56M`: three digits for what is read at a glance. */
export function compact(value: number | bigint): string {
  const number = Number(value);
  const unit = units.find(({ size }) => Math.abs(number) >= size * 0.9995);
  if (!unit) return count(Math.round(number));
  return `${Number((number / unit.size).toPrecision(3))}${unit.name}`;
}

/** `850 ms`, `1.24 s`, `2.5 min`; a dash for nothing. */
export function duration(ms: number | undefined): string {
  if (ms === undefined) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const [value, unit] = ms < 60_000 ? [ms / 1000, "s"] : [ms / 60_000, "min"];
  return `${Number(value.toPrecision(3))} ${unit}`;
}

/** A share as `1.2 %`; a dash for one of nothing. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return "–";
  const value = 100 * part / whole;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  return `${value.toFixed(value >= 10 || value === 0 ? 0 : 1)} %`;
}

/** By number of decimals; making one takes longer than a thousand uses of it. */
const formats = madeOnce(() =>
  Array.from({ length: 10 }, (_, digits) =>
    new Intl.NumberFormat("en-US", {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    }))
);

const units = [
  { size: 1e12, name: "T" },
  { size: 1e9, name: "B" },
  { size: 1e6, name: "M" },
  { size: 1e3, name: "k" },
] as const;

function decimals(usd: number, digits: number): string {
  const text = formats()[digits]!.format(Math.abs(usd));
  return `${usd < 0 ? "−" : ""}$${text}`;
}

/** How a figure has changed since the time before; `hasEarlier`: there were calls then. */
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
