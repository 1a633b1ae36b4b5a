import type { Queryable } from "./database.ts";

/** Reads the time of the database's clock: those of several processes differ. */
export async function databaseNow(database: Queryable): Promise<Date> {
  const [row] = await database.query("select clock_timestamp() as now", []);
  return row!.now as Date;
}

/**
 * SQL for a time `ms` from now, a number or a parameter. By the database's clock: those of several
 * processes differ.
 */
export function fromNow(ms: number | string): string {
  return `clock_timestamp() + ${ms}::bigint * interval '1 millisecond'`;
}
