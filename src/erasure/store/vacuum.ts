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
        `select since, extract(epoch from clock_timestamp() - since) as seconds
         from (select least(due_since, run_due) as since from scrubs) as noted
         where since <= clock_timestamp()`,
        [],
      );
      return row && { since: row.since as Date, seconds: Number(row.seconds) };
    },
    isBusy: () => analytics.isBusy(),
    async scrub(what) {
      const [state] = await main.query(
        `select version, now() as started,
           relations || case when run_due <= now() then run_relations end as relations
         from scrubs`,
        [],
      );
      const scope = { what, touched: (state?.relations ?? []) as string[] };
      const ofMain = await rewriteFiles(main, scope);
      const ofRows = await analytics.rewriteFiles(scope);
      const isAllDone = ofMain.isAllDone && ofRows.isAllDone;
      // What is left stays due.
      if (isAllDone) {
        await main.query(
          // Rows that were erased meanwhile wait for the next scrub.
          `update scrubs set due_since = case when version = $1::bigint then null else $2::timestamptz end,
           relations = case when version = $1::bigint then '{}' else relations end,
           run_relations = case when run_due > $2::timestamptz then run_relations end,
           run_due = case when run_due > $2::timestamptz then run_due end,
           scrubbed_at = clock_timestamp()`,
          [state?.version as bigint | undefined ?? 0n, state?.started as Date | undefined ?? null],
        );
      }
      return {
        rewritten: [...ofMain.rewritten, ...ofRows.rewritten],
        notRewritten: [...new Set([...ofMain.notRewritten, ...ofRows.notRewritten])],
        isAllDone,
      };
    },
  };
}

/**
 * Notes that files hold erased rows of these relations, which makes a scrub due. `atMostDaily`: due
 * a day after the last one, unless something else makes it due earlier.
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

/**
 * How long a scrub waits for a run of `notingDirty`. One that came earlier would rewrite tables from
 * which the run still erases rows, or would have erased none.
 */
const runSeconds = 60 * 60;

/**
 * Runs `erase`, which returns the relations from which it has erased rows, or undefined if it has
 * erased none. Their scrub is due at most daily. While it runs, the scrub of all that it `mayTouch`
 * is noted, and becomes due if it fails or the process ends: a later run would not find what is
 * erased by then.
 */
export async function notingDirty(
  main: Database,
  mayTouch: readonly string[],
  erase: () => Promise<readonly string[] | undefined>,
): Promise<void> {
  // The note of a run that didn't end is kept with those of others.
  await main.query(
    `insert into scrubs (id, version, relations, run_relations, run_due)
     values (1, 0, '{}', $1::text[], clock_timestamp() + ${runSeconds} * interval '1 second')
     on conflict (id) do update set version = scrubs.version + 1,
       due_since = least(scrubs.due_since, scrubs.run_due),
       relations = array(select distinct unnest(scrubs.relations || scrubs.run_relations)),
       run_relations = excluded.run_relations,
       run_due = greatest(excluded.run_due, scrubs.scrubbed_at + interval '1 day')`,
    [mayTouch],
  );
  const touched = await erase();
  await main.transaction(async (tx) => {
    await tx.query("update scrubs set run_relations = null, run_due = null");
    if (touched) await noteDirty(tx, touched, { atMostDaily: true });
  });
}
