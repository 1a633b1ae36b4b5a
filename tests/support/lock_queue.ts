import type { Database, Queryable } from "../../src/database/database.ts";

/** Over half a minute: an act that hangs for another reason then fails its test. */
const maxChecks = 3000;

/**
 * Starts acts while a transaction holds the locks that the statement `held` takes. Each is started
 * once all before it wait for a lock or have ended, so that the first of them gets the lock first;
 * once it has changed a row, the third may pass the second. Then ends the transaction and returns
 * the acts' results.
 */
export async function startInTurn(
  database: Database,
  held: string,
  ...acts: readonly (() => Promise<unknown>)[]
): Promise<unknown[]> {
  let over = 0;
  const started: Promise<unknown>[] = [];
  await database.transaction(async (tx) => {
    await tx.query(held);
    for (const act of acts) {
      const result = act();
      const end = () => void over++;
      result.then(end, end);
      started.push(result);
      await untilWaiting(database, () => started.length - over);
    }
  });
  return await Promise.all(started);
}

/** Resolves when so many of the database's sessions wait for a lock; throws after 30 s. */
export async function untilWaiting(database: Queryable, count: () => number): Promise<void> {
  for (let look = 0; look < maxChecks; look++) {
    const sessions = await database.query(
      `select from pg_stat_activity
       where wait_event_type = 'Lock' and datname = current_database()`,
    );
    if (sessions.length >= count()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("An act neither waits for a lock nor ends.");
}
