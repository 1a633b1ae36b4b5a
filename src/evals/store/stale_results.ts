import type { Database } from "../../database/database.ts";
import { eraseUnlocked } from "../../database/retention_lock.ts";
import type { AnalyticsReads } from "../../records/analytics_store.ts";

/** Results that are read in one step. */
const stepRows = 1000;

/**
 * Erases the results about interactions older than `limit`, or only their details, which may quote
 * text. Returns the number of rows. Must run under `unlessBusy`.
 */
export async function eraseResults(
  { main, analytics }: { main: Database; analytics: Pick<AnalyticsReads, "idsSince"> },
  limit: Date,
  what: "details" | "rows",
): Promise<number> {
  const still = what === "details" ? "and detail is not null" : "";
  const change = what === "details"
    ? "update eval_results set detail = null"
    : "delete from eval_results";
  let sum = 0;
  for (let after = "";;) {
    // Not `distinct`: for few thousand results plans would read all that remain in each step.
    const rows = await main.query(
      `select transaction_id as id from eval_results
       where transaction_id > $1 ${still} order by 1 limit $2`,
      [after, stepRows],
    );
    const ids = [...new Set(rows.map(({ id }) => String(id)))];
    if (ids.length === 0) return sum;
    after = ids.at(-1)!;
    const young = await analytics.idsSince(ids, limit);
    const old = ids.filter((id) => !young.has(id));
    if (old.length === 0) continue;
    const count = await eraseUnlocked(main, async (tx) => {
      const changed = await tx.query(
        `${change} where transaction_id = any($1::text[]) ${still} returning 1 as one`,
        [old],
      );
      return changed.length;
    });
    if (count === undefined) return sum;
    sum += count;
  }
}
