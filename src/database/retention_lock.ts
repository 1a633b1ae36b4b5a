import type { Database, Queryable, SqlValue } from "./database.ts";
import { lockForWriting } from "./erasure_lock.ts";
import { isLockTimeout } from "./postgres/faults.ts";

/** Key of the advisory lock of retention: one process at a time erases old rows. */
const retentionLock = 7_305_112_604_913;

/**
 * Rows per transaction. Few, so that locks are short: an erasure waits for the transaction, and
 * writers wait behind the erasure. Rows may hold whole conversations.
 */
const batchRows = 500;

/** Another process is erasing right now. */
class RetentionBusy extends Error {
  override name = "RetentionBusy";
}

/** Runs steps of `eraseAlone`; undefined if another process is erasing right now. */
export async function unlessBusy<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof RetentionBusy) return undefined;
    throw thrown;
  }
}

/**
 * Runs one step of retention in its own transaction: a lock that lasted longer would need its own
 * session. If another process is erasing, throws the error that `unlessBusy` handles.
 */
export async function eraseAlone<T>(
  database: Database,
  step: (tx: Queryable) => Promise<T>,
): Promise<T> {
  return await database.transaction(async (tx) => {
    const [row] = await tx.query("select pg_try_advisory_xact_lock($1) as mine", [retentionLock]);
    if (row?.mine !== true) throw new RetentionBusy();
    await lockForWriting(tx);
    return await step(tx);
  });
}

/**
 * Returns the number of rows that a step of `eraseAlone` changes; undefined if another session has
 * locked them or their table. They are left to the next time, so that other tables don't wait.
 */
export async function eraseUnlocked(
  database: Database,
  step: (tx: Queryable) => Promise<number>,
): Promise<number | undefined> {
  try {
    return await eraseAlone(database, step);
  } catch (thrown) {
    if (isLockTimeout(thrown)) return undefined;
    throw thrown;
  }
}

/**
 * Deletes the rows of a table that are older than the limit, in batches, and leaves those that others
 * have locked to the next time. Returns the number of deleted rows.
 */
export async function deleteBefore(
  database: Database,
  table: string,
  limit: Date,
): Promise<number> {
  const statement = `delete from ${table} where ctid = any(array(
    select ctid from ${table} where created_at < $1 limit $2 for update skip locked))`;
  for (let sum = 0;;) {
    const count = await eraseUnlocked(
      database,
      (tx) => countChanged(tx, statement, [limit, batchRows]),
    ) ?? 0;
    sum += count;
    if (count < batchRows) return sum;
  }
}

/** Runs a statement that changes rows; returns their number. */
export async function countChanged(
  tx: Queryable,
  statement: string,
  values: readonly SqlValue[],
): Promise<number> {
  const [row] = await tx.query(
    `with changed as (${statement} returning 1) select count(*) as count from changed`,
    values,
  );
  return Number(row?.count ?? 0);
}
