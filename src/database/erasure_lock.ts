import type { Queryable } from "./database.ts";

/**
 * Key of the advisory lock between writers of records (shared) and erasures (exclusive): a writer
 * either commits before an erasure looks for rows, or sees the erasure.
 */
const erasureLock = 7_305_112_604_914n;

/** An erasure holds it to the end of its transaction. */
export async function lockForErasure(tx: Queryable): Promise<void> {
  await tx.query("select pg_advisory_xact_lock($1::bigint)", [erasureLock]);
}

/**
 * A writer takes it before any row and holds it to the end of its transaction: no erasure, which takes
 * the same rows in another order, happens in between.
 */
export async function lockForWriting(tx: Queryable): Promise<void> {
  await tx.query(sharedErasureLock);
}

/** The statement of `lockForWriting`, to send it together with others. */
export const sharedErasureLock = `select pg_advisory_xact_lock_shared(${erasureLock})`;
