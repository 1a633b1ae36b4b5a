import type { Queryable } from "./database.ts";

/**
 * Key of the advisory lock between writers of records (shared) and erasures (exclusive): a writer
 * either commits before an erasure looks for rows, or sees the erasure.
 */
const erasureLock = 7_305_112_604_914n;

/** Takes the lock for an erasure, until its transaction ends. */
export async function lockForErasure(tx: Queryable): Promise<void> {
  await tx.query("select pg_advisory_xact_lock($1::bigint)", [erasureLock]);
}

/**
 * Takes the lock for a writer, until its transaction ends. It must come before the lock of any row:
 * an erasure, which locks the same rows in another order, then can't happen in between.
 */
export async function lockForWriting(tx: Queryable): Promise<void> {
  await tx.query(sharedErasureLock);
}

/** The statement of `lockForWriting`, to send it together with others. */
export const sharedErasureLock = `select pg_advisory_xact_lock_shared(${erasureLock})`;
