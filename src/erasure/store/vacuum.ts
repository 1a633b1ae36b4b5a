import type { VacuumReport, VacuumStore } from "../vacuum.ts";
import { messageOf } from "../../shared/fault.ts";
import type { Database, Queryable } from "../../database/database.ts";

/** Tables that hold no text of callers; they may be large, so they are left out. */
const withoutText: ReadonlySet<string> = new Set([
  ...["ledger_entries", "key_charges", "budget_charges"],
]);

const partitioned = ["interactions", "interaction_payloads"];

/** Where PostgreSQL stores data that this service can't rewrite. */
const operators = [
  "the server's write-ahead log",
  "archives of the log, backups and standby servers",
];

/** Rewrites the files of the databases that hold records, so that erased text is in none. */
export function createVacuum(databases: readonly Database[]): VacuumStore {
  const all = [...new Set(databases)];
  const [main] = all as [Database];
  return {
    async due() {
      const [row] = await main.query(
        `select due_since, extract(epoch from clock_timestamp() - due_since) as seconds,
           exists (select from interactions
             where created_at > clock_timestamp() - interval '10 seconds') as busy
         from scrubs where due_since <= clock_timestamp()`,
        [],
      );
      return row && {
        since: row.due_since as Date,
        seconds: Number(row.seconds),
        isBusy: row.busy === true,
      };
    },
    async scrub(what) {
      const [state] = await main.query(
        "select version, relations, clock_timestamp() as started from scrubs",
        [],
      );
      const touched = (state?.relations ?? []) as string[];
      const report: VacuumReport = { rewritten: [], notRewritten: [] };
      for (const database of all) {
        if (what === "erased" && database.kind === "postgres") {
          report.notRewritten.push("a server's tables, which `admin scrub` rewrites");
          continue;
        }
        const tables = await tablesOf(database, what === "all" ? undefined : touched);
        await rewrite(database, tables, report);
      }
      await main.query(
        // Rows that were erased meanwhile wait for the next scrub.
        `update scrubs set due_since = case when version = $1::bigint then null else $2::timestamptz end,
           relations = case when version = $1::bigint then '{}' else relations end,
           scrubbed_at = clock_timestamp()`,
        [state?.version as bigint | undefined ?? 0n, state?.started as Date | undefined ?? null],
      );
      return report;
    },
  };
}

/**
 * Stores that files hold erased rows of these relations, which makes a scrub due. `atMostDaily`: it
 * is due a day after the last one, unless something else makes it due earlier.
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
 * Runs `erase`, which tells in which relations it has erased rows, undefined where in none: their
 * scrub is due at most daily. While it runs the scrub of all that it `mayTouch` is due, and stays due
 * if it fails or the process ends: what is erased by then no later run would find.
 */
export async function notingDirty(
  main: Database,
  mayTouch: readonly string[],
  erase: () => Promise<readonly string[] | undefined>,
): Promise<void> {
  const [before] = await main.query("select due_since, relations from scrubs");
  await noteDirty(main, mayTouch, { atMostDaily: true });
  const [noted] = await main.query("select version from scrubs");
  const touched = await erase();
  await main.transaction(async (tx) => {
    // Unless somebody else has erased something meanwhile.
    await tx.query(
      "update scrubs set due_since = $1, relations = $2::text[] where version = $3::bigint",
      [
        before?.due_since as Date | undefined ?? null,
        before?.relations as string[] | undefined ?? [],
        noted!.version as bigint,
      ],
    );
    if (touched) await noteDirty(tx, touched, { atMostDaily: true });
  });
}

/** All tables; with `touched`, partitions and media only where they were touched, since they are large. */
async function tablesOf(
  database: Database,
  touched: readonly string[] | undefined,
): Promise<string[]> {
  const rows = await database.query(
    `select c.oid::regclass::text as name from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
       and ($1::text[] is null or c.oid::regclass::text = any($1::text[])
         or not c.relispartition and c.relname <> 'media')
     order by pg_relation_size(c.oid)`,
    [touched ?? null],
  );
  return rows.map((row) => String(row.name)).filter((name) => !withoutText.has(name));
}

/** One statement per table, so that other work gets its turn. */
async function rewrite(
  database: Database,
  tables: readonly string[],
  report: { rewritten: string[]; notRewritten: string[] },
): Promise<void> {
  const attempt = async (name: string, sql: string) => {
    try {
      await database.query(sql);
      report.rewritten.push(name);
    } catch (thrown) {
      // A partition may have been dropped meanwhile, with its file.
      if (await isGone(database, name)) return;
      report.notRewritten.push(`${name} (${messageOf(thrown).split("\n")[0]})`);
    }
  };
  // Statistics hold samples of the rows, so tables that have statistics are analyzed again.
  const sampled = await sampledTables(database);
  for (const name of tables) {
    await attempt(name, `vacuum (full${sampled.has(name) ? ", analyze" : ""}) ${name}`);
  }
  // A partitioned table has statistics apart from those of its partitions.
  for (const name of partitioned) if (sampled.has(name)) await attempt(name, `analyze ${name}`);
  if (sampled.size > 0) await attempt("pg_statistic", "vacuum (full) pg_catalog.pg_statistic");
  if (database.kind === "postgres") {
    for (const one of operators) {
      if (!report.notRewritten.includes(one)) report.notRewritten.push(one);
    }
    return;
  }
  await clearLog(database);
  report.rewritten.push("write-ahead log");
}

/** Makes the database remove files of its log instead of reusing them (tested). */
async function clearLog(database: Database): Promise<void> {
  await database.query("set wal_recycle = off");
  for (let times = 0; times < 2; times++) {
    await database.query("select pg_switch_wal()");
    await database.query("checkpoint");
  }
  await database.query("reset wal_recycle");
}

async function sampledTables(database: Database): Promise<ReadonlySet<string>> {
  const rows = await database.query(
    `select distinct schemaname, tablename from pg_stats where schemaname = current_schema()`,
    [],
  );
  return new Set(rows.map((row) => String(row.tablename)));
}

async function isGone(database: Database, name: string): Promise<boolean> {
  const [row] = await database.query("select to_regclass($1) is null as gone", [name]);
  return row?.gone === true;
}
