import { day, exactTime, readTime, unknownChoice } from "../../format.ts";
import { dayMs, hourMs, startOfDay, startOfMonth } from "../../../shared/time_span.ts";

/** The period that an overview shows, in whole hours or days in UTC; `to` is exclusive. */
export interface Range {
  key: RangeKey;
  /** The unit by which sums are read. */
  span: "hour" | "day";
  /** The unit of one step of the charts. */
  step: "hour" | "day" | "week";
  from: Date;
  to: Date;
  /** Where the previous period of the same length begins. */
  before: Date;
  /** What is wrong with the query's range or days; the range is the last 30 days then. */
  problem?: string;
  /** Days that can't be shown, as they were typed. */
  typed?: { from: string; to: string };
}

export type RangeKey = typeof ranges[number]["key"] | "custom";

export const ranges = [
  { key: "24h", label: "24 hours" },
  { key: "7d", label: "7 days" },
  { key: "30d", label: "30 days" },
  { key: "90d", label: "90 days" },
  { key: "month", label: "This month" },
  { key: "last-month", label: "Last month" },
] as const;

/** The longest custom range that is shown by hour, in days. */
const daysByHour = 3;
/** The longest range that is shown by day rather than by week, in days. */
const daysByDay = 92;
const maxDays = 366;

/**
 * Reads the range of `?range=7d` or `?from=2026-11-01&to=2026-11-20` (both days included). Without
 * either it is the shortest of 24 hours, 7 days and 30 days that includes the hour of the first
 * call, or else 30 days.
 */
export function readRange(
  query: (name: string) => string | undefined,
  now: Date,
  firstCall?: Date,
): Range {
  const [from, to] = [query("from") ?? "", query("to") ?? ""];
  if (from !== "" || to !== "") return customRange(from, to, now);
  const asked = query("range");
  const existing = ranges.find(({ key }) => key === asked);
  if (existing) return usualRange(existing.key, now);
  const problem = unknownChoice(asked, "range");
  if (problem !== undefined) return { ...usualRange("30d", now), problem };
  return usualRange(shortestWith(firstCall, now), now);
}

function shortestWith(firstCall: Date | undefined, now: Date): "24h" | "7d" | "30d" {
  if (firstCall === undefined) return "30d";
  return firstCall >= usualRange("24h", now).from
    ? "24h"
    : firstCall >= usualRange("7d", now).from
    ? "7d"
    : "30d";
}

function usualRange(key: Exclude<RangeKey, "custom">, now: Date): Range {
  if (key === "24h") {
    const to = (Math.floor(now.getTime() / hourMs) + 1) * hourMs;
    return rangeOf(key, "hour", to - dayMs, to);
  }
  const to = startOfDay(now).getTime() + dayMs;
  if (key === "month" || key === "last-month") return monthRange(key, now, to);
  const days = Number.parseInt(key);
  return rangeOf(key, "day", to - days * dayMs, to);
}

/** Returns a month in UTC; the present one ends with today. */
function monthRange(key: "month" | "last-month", now: Date, tomorrow: number): Range {
  const first = (back: number) => startOfMonth(now, -back).getTime();
  return key === "month"
    ? rangeOf(key, "day", first(0), tomorrow)
    : rangeOf(key, "day", first(1), first(0));
}

function customRange(fromText: string, toText: string, now: Date): Range {
  const today = startOfDay(now).getTime();
  const last = toText === "" ? today : readDay(toText);
  const first = fromText === "" ? undefined : readDay(fromText);
  const problem = problemOf(first, last, today);
  if (problem !== undefined || first === undefined || last === undefined) {
    return {
      ...usualRange("30d", now),
      problem: problem ?? "",
      typed: { from: fromText, to: toText },
    };
  }
  const to = last + dayMs;
  const span = to - first <= daysByHour * dayMs ? "hour" : "day";
  return rangeOf("custom", span, first, to);
}

function problemOf(first: number | undefined, last: number | undefined, today: number) {
  if (first === undefined || last === undefined) {
    return "Enter both days as dates, such as 1 Nov 2026.";
  }
  if (last < first) return "The last day is before the first day.";
  if (first > today) return "The first day is in the future.";
  if (first < 0) return "The first day is before 1970.";
  if (last - first >= maxDays * dayMs) return `A range takes at most ${maxDays} days.`;
  return undefined;
}

function readDay(text: string): number | undefined {
  return readTime(text, { hasTime: false })?.getTime();
}

function rangeOf(key: RangeKey, span: Range["span"], from: number, to: number): Range {
  const step = span === "day" && to - from > daysByDay * dayMs ? "week" : span;
  const before = new Date(2 * from - to);
  return { key, span, step, from: new Date(from), to: new Date(to), before };
}

/** One step of a chart; `to` is exclusive. */
export interface Step {
  from: Date;
  to: Date;
}

/** Returns the hours, days or weeks of a range; the last week may be incomplete. */
export function stepsOf({ step, from, to }: Range): Step[] {
  const [first, end] = [from.getTime(), to.getTime()];
  const ms = stepMs[step];
  return Array.from({ length: Math.ceil((end - first) / ms) }, (_, at) => ({
    from: new Date(first + at * ms),
    to: new Date(Math.min(end, first + (at + 1) * ms)),
  }));
}

/** Returns the index in `stepsOf` of the step that contains a time of the range. */
export function stepOf({ step, from }: Range, atMs: number): number {
  return Math.floor((atMs - from.getTime()) / stepMs[step]);
}

const stepMs = { hour: hourMs, day: dayMs, week: 7 * dayMs };

/** `2026-11-21`, in UTC. */
export function dayText(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/** Returns the time in words: `1 Oct 2026 to 31 Oct 2026, UTC`. */
export function rangeText({ key, from, to }: Range): string {
  if (key === "24h") return `${exactTime(from)} to ${exactTime(to)}`;
  const [first, last] = [day(from), day(new Date(to.getTime() - dayMs))];
  return first === last ? `${first}, UTC` : `${first} to ${last}, UTC`;
}

/** Returns the query that `readRange` reads as the same range. */
export function rangeQuery(range: Range): Record<string, string> {
  if (range.key !== "custom") return { range: range.key };
  return { from: dayText(range.from), to: dayText(new Date(range.to.getTime() - 1)) };
}
