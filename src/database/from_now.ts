import type { Clock } from "../base/clock.ts";
import type { Queryable } from "./database.ts";

/** Reads the time of the database's clock: those of several processes differ. */
export async function databaseNow(database: Queryable): Promise<Date> {
  const [row] = await database.query("select clock_timestamp() as now", []);
  return row!.now as Date;
}

/**
 * Returns the time by our clock or the database's, whichever is earlier: what is deleted because one
 * of them is ahead is gone.
 */
export async function earlierNow(database: Queryable, clock: Clock): Promise<Date> {
  const [ours, theirs] = [clock.now(), await databaseNow(database)];
  return ours < theirs ? ours : theirs;
}

/**
 * SQL for a time `ms` from now, a number or a parameter. By the database's clock: those of several
 * processes differ.
 */
export function fromNow(ms: number | string): string {
  return `clock_timestamp() + ${ms}::bigint * interval '1 millisecond'`;
}
