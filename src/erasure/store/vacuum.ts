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
      return row && { since: row.due_since as Date, seconds: Number(row.seconds) };
    },
    isBusy: () => analytics.isBusy(),
    async scrub(what) {
      const [state] = await main.query(
        "select version, relations, clock_timestamp() as started from scrubs",
        [],
      );
      const scope = { what, touched: (state?.relations ?? []) as string[] };
      const ofMain = await rewriteFiles(main, scope);
      const ofRows = await analytics.rewriteFiles(scope);
      await main.query(
        // Rows that were erased meanwhile wait for the next scrub.
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
 * Stores that files hold erased rows of these relations, which makes a scrub due. `atMostDaily`: it
 * is due a day after the last one, unless something else makes it due earlier. `notWithin`: it is
 * due after these seconds at the earliest.
 */
export async function noteDirty(
  tx: Queryable,
  relations: readonly string[],
  { atMostDaily = false, notWithin = 0 } = {},
): Promise<void> {
  await tx.query(
    `insert into scrubs (id, version, due_since, relations)
     values (1, 1, clock_timestamp() + $3::integer * interval '1 second', $1::text[])
     on conflict (id) do update set version = scrubs.version + 1,
       due_since = least(scrubs.due_since, case when $2::boolean
         then greatest(excluded.due_since, scrubs.scrubbed_at + interval '1 day')
         else excluded.due_since end),
       relations = array(select distinct unnest(scrubs.relations || excluded.relations))`,
    [relations, atMostDaily, notWithin],
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
  // At once: a deletion in between would be taken for this run's note, and be removed with it.
  const [before, version] = await main.transaction(async (tx) => {
    const [state] = await tx.query("select due_since, relations from scrubs for update");
    await noteDirty(tx, mayTouch, { atMostDaily: true, notWithin: runSeconds });
    const [noted] = await tx.query("select version from scrubs");
    return [state, noted!.version as bigint] as const;
  });
  const touched = await erase();
  await main.transaction(async (tx) => {
    // Unless a deletion has erased something meanwhile.
    await tx.query(
      "update scrubs set due_since = $1, relations = $2::text[] where version = $3::bigint",
      [
        before?.due_since as Date | undefined ?? null,
        before?.relations as string[] | undefined ?? [],
        version,
      ],
    );
    if (touched) await noteDirty(tx, touched, { atMostDaily: true });
  });
}
