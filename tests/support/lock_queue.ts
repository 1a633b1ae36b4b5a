import type { Database, Queryable } from "../../src/database/database.ts";

/** Half a minute and more: an act that hangs for another reason fails its test instead of hanging it. */
const mostLooks = 3000;

/**
 * Starts acts while a transaction holds what `held` locks, each once those before it wait for a lock or
 * are over: so all of them queue in a known order. Then lets go, and gives what they come to.
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

/** Resolves when so many of the database's sessions wait for a lock. */
export async function untilWaiting(database: Queryable, count: () => number): Promise<void> {
  for (let look = 0; look < mostLooks; look++) {
    const sessions = await database.query(
      `select from pg_stat_activity
       where wait_event_type = 'Lock' and datname = current_database()`,
    );
    if (sessions.length >= count()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("An act neither waits for a lock nor ends.");
}
