/**
 * SQL for a time `ms` from now, a number or a parameter. By the database's clock: those of several
 * processes differ.
 */
export function fromNow(ms: number | string): string {
  return `clock_timestamp() + ${ms}::bigint * interval '1 millisecond'`;
}
