import type { Queryable } from "./database.ts";

/** How long a repeated X-Request-ID means the same request (interface.md §5, Requests). */
export const sameRequestHours = 24;

/** Of two requests with the same id the second waits until the first's transaction has ended. */
export async function lockRequest(
  tx: Queryable,
  what: string,
  accountId: number,
  requestId: string,
): Promise<void> {
  const name = `${what}/${accountId}/${requestId}`;
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [name]);
}
