import type { Queryable } from "./database.ts";

/**
 * Key of the advisory lock between who writes records (shared) and who erases them (exclusive): a
 * writer either is done before an erasure looks for rows, or sees that it happened.
 */
const erasureLock = 7_305_112_604_914n;

/** Held by an erasure to the end of its transaction. */
export async function lockForErasure(tx: Queryable): Promise<void> {
  await tx.query("select pg_advisory_xact_lock($1::bigint)", [erasureLock]);
}

/** Held by a writer to the end of its transaction: what it finds then is not erased meanwhile. */
export async function lockForWriting(tx: Queryable): Promise<void> {
  await tx.query(sharedErasureLock);
}

/** The statement of `lockForWriting`, for who sends it with others. */
export const sharedErasureLock = `select pg_advisory_xact_lock_shared(${erasureLock})`;
