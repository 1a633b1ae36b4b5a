import { Fault } from "./fault.ts";

/** Half-open: `start` ≤ time < `end`. A side that is missing is open. */
export interface TimeSpan {
  start?: Date;
  end?: Date;
}

/**
 * The span that the body's `start_date` and `end_date` (RFC 3339 timestamps) name. Throws the
 * fault of `end_date` when it isn't after the start.
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

/** What the database and RFC 3339 both can say. */
const earliest = Date.parse("0001-01-02T00:00:00Z");
const latest = Date.parse("9999-12-31T00:00:00Z");

/** The same span between what a database takes: no call is older, or further in the future. */
export function assertStorableTime(
  { start, end }: { start: Date | undefined; end: Date | undefined },
): TimeSpan {
  return { ...(start ? { start: clamp(start) } : {}), ...(end ? { end: clamp(end) } : {}) };
}

function clamp(time: Date): Date {
  return new Date(Math.min(Math.max(time.getTime(), earliest), latest));
}
