import type { Database } from "../../src/database/database.ts";

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
      while (over + await waiting(database) < started.length);
    }
  });
  return await Promise.all(started);
}

/** How many of the database's sessions wait for a lock. */
async function waiting(database: Database): Promise<number> {
  const sessions = await database.query(
    `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
  );
  return sessions.length;
}
