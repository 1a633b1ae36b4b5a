import type { Queryable, SqlValue } from "./database.ts";

/** The most rows that one statement of a job deletes. */
export const deletedAtOnce = 1_000;

/**
 * Runs a statement that deletes rows, `deletedAtOnce` at most, until it deletes fewer; returns how
 * many that were. It must return a row for each. What others have locked is left.
 */
export async function deleteInChunks(
  database: Queryable,
  statement: string,
  values: readonly SqlValue[],
): Promise<number> {
  for (let all = 0;;) {
    const { length } = await database.query(statement, values);
    all += length;
    if (length < deletedAtOnce) return all;
  }
}
