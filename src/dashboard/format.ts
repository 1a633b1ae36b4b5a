import { beginning } from "../base/characters.ts";

/**
 * Formats a time relative to now, rounded to its largest unit: `3 hours ago`, `in 2 days`. What
 * would be rounded up to the next unit is shown in it: `1 hour ago`, not `60 minutes ago`.
 */
export function relativeTime(at: Date, now: Date): string {
  const ms = at.getTime() - now.getTime();
  const size = Math.abs(ms);
  if (size < 45_000) return ms > 0 ? "in a moment" : "just now";
  const unit = units.find(({ ms: unitMs }, at) => size >= unitMs - (units[at + 1]?.ms ?? 0) / 2) ??
    units.at(-1)!;
  const count = Math.max(1, Math.round(size / unit.ms));
  const text = `${count} ${unit.name}${count === 1 ? "" : "s"}`;
  return ms > 0 ? `in ${text}` : `${text} ago`;
}

/** `21 Nov 2026, 13:48 UTC`. */
export function exactTime(at: Date): string {
  const text = at.toISOString();
  return `${day(at)}, ${text.slice(11, 16)} UTC`;
}

/** `21 Nov 2026`, in UTC. */
export function day(at: Date): string {
  return `${at.getUTCDate()} ${months[at.getUTCMonth()]} ${at.getUTCFullYear()}`;
}

/** `21 Nov 2026, 13:48`, in UTC; without the time if `hasTime` is false. */
export function typedTime(at: Date, hasTime: boolean): string {
  return hasTime ? exactTime(at).replace(" UTC", "") : day(at);
}

/**
 * Reads a day in UTC as people and addresses write it, `21 Nov 2026` or `2026-11-21`. With
 * `hasTime` a time may follow, `21 Nov 2026, 13:48` or `2026-11-21T13:48`. Undefined for anything
 * else.
 */
export function readTime(text: string, { hasTime }: { hasTime: boolean }): Date | undefined {
  const [, number = "", name = "", year, iso, time] = typed.exec(text.trim()) ?? [];
  const month = months.findIndex((one) => one.toLowerCase() === name.toLowerCase()) + 1;
  const date = iso ??
    [year, ...[String(month), number].map((one) => one.padStart(2, "0"))].join("-");
  if (time !== undefined && !hasTime) return undefined;
  const at = new Date(`${date}T${time ?? "00:00"}Z`);
  // `Date` reads a day that doesn't exist, such as the 31st of February, as one of the next month.
  const isDay = !Number.isNaN(at.getTime()) && at.toISOString().slice(0, 10) === date;
  return isDay ? at : undefined;
}

const typed =
  /^(?:(\d{1,2}) ([A-Za-z]{3})[a-z]* (\d{4})|(\d{4}-\d\d-\d\d))(?:(?:, ?|T)(\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(?:Z| UTC)?)?$/;

/** Returns the day of such a text as `2026-11-21`; other texts unchanged, for a later refusal. */
export function isoDay(text: string): string {
  return readTime(text, { hasTime: false })?.toISOString().slice(0, 10) ?? text;
}

/** Returns a caller's name, in quotation marks if blanks at its ends would be invisible. */
export function nameText(name: string): string {
  return name === name.trim() ? name : `“${name}”`;
}

const units = [
  { name: "year", ms: 365 * 86_400_000 },
  // A twelfth of a year: with months of 30 days, 345 days would be 12 months.
  { name: "month", ms: 365 / 12 * 86_400_000 },
  { name: "day", ms: 86_400_000 },
  { name: "hour", ms: 3_600_000 },
  { name: "minute", ms: 60_000 },
] as const;

export const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Returns the beginning of a text, with an ellipsis if it has more UTF-16 units. */
export function shortText(text: string, units: number): string {
  if (text.length <= units) return text;
  return `${beginning(text, units).trimEnd()}…`;
}

/** Returns the message for a value in an address that the page doesn't have; empty is no value. */
export function unknownChoice(
  asked: string | undefined,
  kind: "range" | "breakdown",
): string | undefined {
  return asked ? `“${shortText(asked, 40)}” is not a ${kind}.` : undefined;
}
