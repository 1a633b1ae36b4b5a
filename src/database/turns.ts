import type { Queryable } from "./database.ts";

/**
 * Builds the function that returns the id after which a look's rows of a table begin. If there are
 * more than a look checks, the next one goes on from there, and then begins again.
 */
export function createTurns(
  database: Queryable,
  table: string,
  atOnce: number,
): () => Promise<string> {
  let after = "";
  return async () => {
    const from = after;
    const [last] = await database.query(
      `select id from ${table} where id > $1 order by id offset $2 limit 1`,
      [from, atOnce - 1],
    );
    after = String(last?.id ?? "");
    return from;
  };
}
