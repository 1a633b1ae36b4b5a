import type { VacuumStore } from "../vacuum.ts";
import type { Database, Queryable } from "../../database/database.ts";
import type { AnalyticsStore } from "../../records/analytics_store.ts";
import { rewriteFiles } from "./rewrite_files.ts";

/** Rewrites the files of the stores that hold records, so that erased text is in none. */
export function createVacuum(
  main: Database,
  analytics: Pick<AnalyticsStore, "isBusy" | "rewriteFiles">,
): VacuumStore {
  return {
    async due() {
      const [row] = await main.query(
        `select due_since, extract(epoch from clock_timestamp() - due_since) as seconds
         from scrubs where due_since <= clock_timestamp()`,
        [],
      );
      return row && {
        since: row.due_since as Date,
        seconds: Number(row.seconds),
        isBusy: await analytics.isBusy(),
      };
    },
    async scrub(what) {
      const [state] = await main.query(
        "select version, relations, clock_timestamp() as started from scrubs",
        [],
      );
      const scope = { what, touched: (state?.relations ?? []) as string[] };
      const ofMain = await rewriteFiles(main, scope);
      const ofRows = await analytics.rewriteFiles(scope);
      await main.query(
        // What was erased meanwhile waits for the next one.
        `update scrubs set due_since = case when version = $1::bigint then null else $2::timestamptz end,
           relations = case when version = $1::bigint then '{}' else relations end,
           scrubbed_at = clock_timestamp()`,
        [state?.version as bigint | undefined ?? 0n, state?.started as Date | undefined ?? null],
      );
      return {
        rewritten: [...ofMain.rewritten, ...ofRows.rewritten],
        notRewritten: [...new Set([...ofMain.notRewritten, ...ofRows.notRewritten])],
      };
    },
  };
}

/**
 * Files hold erased rows of these relations until a scrub rewrites them. `atMostDaily`: the scrub is
 * due a day after the last one, unless something else makes it due earlier.
 */
export async function noteDirty(
  tx: Queryable,
  relations: readonly string[],
  { atMostDaily = false } = {},
): Promise<void> {
  await tx.query(
    `insert into scrubs (id, version, due_since, relations)
     values (1, 1, clock_timestamp(), $1::text[])
     on conflict (id) do update set version = scrubs.version + 1,
       due_since = least(scrubs.due_since, case when $2::boolean
         then greatest(excluded.due_since, scrubs.scrubbed_at + interval '1 day')
         else excluded.due_since end),
       relations = array(select distinct unnest(scrubs.relations || excluded.relations))`,
    [relations, atMostDaily],
  );
}
