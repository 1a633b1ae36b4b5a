import { Fault } from "./fault.ts";

/** Half-open: `start` ≤ time < `end`. A missing side is unbounded. */
export interface TimeSpan {
  start?: Date;
  end?: Date;
}

/**
 * The span of a body's `start_date` and `end_date` (RFC 3339 timestamps). Throws a fault of `end_date`
 * if it isn't after the start.
 */
export function timeSpan(
  { start_date, end_date }: { start_date?: string | undefined; end_date?: string | undefined },
): TimeSpan {
  const start = start_date === undefined ? undefined : new Date(start_date);
  const end = end_date === undefined ? undefined : new Date(end_date);
  if (start && end && end <= start) {
    throw new Fault("invalid_value", {
      param: "end_date",
      message: "end_date: expected a time after start_date.",
    });
  }
  return assertStorableTime({ start, end });
}

/** Times that both the database and RFC 3339 support. */
const earliest = Date.parse("0001-01-02T00:00:00Z");
const latest = Date.parse("9999-12-31T00:00:00Z");

/** Clamps the span to supported times: no call is outside them. */
export function assertStorableTime(
  { start, end }: { start: Date | undefined; end: Date | undefined },
): TimeSpan {
  return { ...(start ? { start: clamp(start) } : {}), ...(end ? { end: clamp(end) } : {}) };
}

function clamp(time: Date): Date {
  return new Date(Math.min(Math.max(time.getTime(), earliest), latest));
}
