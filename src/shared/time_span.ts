import { Fault } from "./fault.ts";

/** Half-open: `start` ≤ time < `end`. A missing side is unbounded. */
export interface TimeSpan {
  start?: Date;
  end?: Date;
}

/**
 * The span of a request's `start_date` and `end_date`: RFC 3339 timestamps, or days of UTC
 * (`2026-11-21`). A day as an end is included whole. Throws a fault of `names.end` if that isn't
 * after the start.
 */
export function timeSpan(
  { start_date, end_date }: { start_date?: string | undefined; end_date?: string | undefined },
  names = { start: "start_date", end: "end_date" },
): TimeSpan {
  const start = start_date === undefined ? undefined : new Date(start_date);
  const end = end_date === undefined ? undefined : endOf(end_date);
  if (start && end && end <= start) {
    throw new Fault("invalid_value", {
      param: names.end,
      message: isDay(start_date!) && isDay(end_date!)
        ? `${names.end}: the last day is before the first.`
        : `${names.end}: the end is not after the start.`,
    });
  }
  return clampSpan({ start, end });
}

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

/** Returns the first moment of the UTC day. */
export function startOfDay(at: Date): Date {
  return new Date(Math.floor(at.getTime() / dayMs) * dayMs);
}

/**
 * Returns the first moment of the UTC month, or of the month that is `monthsLater` months later.
 */
export function startOfMonth(at: Date, monthsLater = 0): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + monthsLater));
}

function isDay(text: string): boolean {
  return !text.includes("T");
}

function endOf(text: string): Date {
  return new Date(isDay(text) ? Date.parse(text) + dayMs : text);
}

/** Times that both the database and RFC 3339 support. */
const earliest = Date.parse("0001-01-02T00:00:00Z");
const latest = Date.parse("9999-12-31T00:00:00Z");

export function isStorableTime(time: Date): boolean {
  return time.getTime() >= earliest && time.getTime() <= latest;
}

/** Clamps the span to supported times: no call is outside them. */
export function clampSpan(
  { start, end }: { start: Date | undefined; end: Date | undefined },
): TimeSpan {
  return { ...(start ? { start: clamp(start) } : {}), ...(end ? { end: clamp(end) } : {}) };
}

function clamp(time: Date, first = earliest, last = latest): Date {
  return new Date(Math.min(Math.max(time.getTime(), first), last));
}

/**
 * Parses an RFC 3339 time. Its offset may put it outside the years 1 to 9999 of UTC, which the
 * database can't read: then returns the nearest moment within them.
 */
export function momentOf(text: string): Date {
  return clamp(new Date(text), startOfYears, endOfYears);
}

const startOfYears = Date.parse("0001-01-01T00:00:00Z");
const endOfYears = Date.parse("9999-12-31T23:59:59.999Z");
