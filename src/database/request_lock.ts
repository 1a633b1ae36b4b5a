import type { Queryable } from "./database.ts";

/** How long a repeated `X-Request-ID` means the same request (docs/calling.md). */
export const sameRequestHours = 24;

/**
 * Locks a request's id: a second request with the same id waits until the first one's transaction
 * has ended.
 */
export async function lockRequest(
  tx: Queryable,
  what: string,
  accountId: number,
  requestId: string,
): Promise<void> {
  const name = `${what}/${accountId}/${requestId}`;
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [name]);
}
