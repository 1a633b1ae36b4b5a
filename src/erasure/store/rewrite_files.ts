import { pushAll } from "../../base/lists.ts";
import type { VacuumReport, VacuumScope } from "../vacuum.ts";
import { messageOf } from "../../shared/fault.ts";
import type { Database } from "../../database/database.ts";
import { isLockTimeout } from "../../database/postgres/faults.ts";

/** Tables that hold no text of callers; they may be large, so they are left out. */
const withoutText: ReadonlySet<string> = new Set([
  ...["ledger_entries", "key_charges", "budget_charges"],
]);

const partitioned = ["interactions", "interaction_payloads"];

/** Where PostgreSQL stores data that this service can't rewrite. */
const outsidePlaces = [
  "the server's write-ahead log",
  "archives of the log, backups and standby servers",
];

/**
 * How long a table's lock is waited for: everything else that needs the table waits behind this. It
 * is longer than `deadlock_timeout`, at which PostgreSQL cancels an autovacuum that is in the way.
 */
const longestLockMs = 2_000;

/** Rewrites the files of one database, which may have any of our tables. */
export async function rewriteFiles(
  database: Database,
  { what, touched }: VacuumScope,
): Promise<VacuumReport> {
  if (what === "erased" && database.kind === "postgres") {
    const reason = "a server's tables, which `admin scrub` rewrites";
    return { rewritten: [], notRewritten: [reason], isAllDone: true };
  }
  return await rewrite(database, await tablesOf(database, what === "all" ? undefined : touched));
}

/** Lists all tables; with `touched`, partitions and media only if they were, since they are large. */
async function tablesOf(
  database: Database,
  touched: readonly string[] | undefined,
): Promise<string[]> {
  const rows = await database.query(
    `select c.oid::regclass::text as name from pg_class c
     where c.relnamespace = quote_ident(current_schema())::regnamespace and c.relkind = 'r'
       and ($1::text[] is null or c.oid::regclass::text = any($1::text[])
         or not c.relispartition and c.relname <> 'media')
     order by pg_relation_size(c.oid)`,
    [touched ?? null],
  );
  return rows.map((row) => String(row.name)).filter((name) => !withoutText.has(name));
}

const lockedReason =
  "another session has locked it: pg_stat_activity shows which; then scrub again";

/** One statement per table, so that other work gets its turn. */
async function rewrite(database: Database, tables: readonly string[]): Promise<VacuumReport> {
  const report: VacuumReport = { rewritten: [], notRewritten: [], isAllDone: true };
  const attempt = async (name: string, sql: string, { samples = false } = {}) => {
    try {
      await database.query(sql, [], { lockMs: longestLockMs });
      if (samples) await clearStaleStatistics(database, name);
      report.rewritten.push(name);
    } catch (thrown) {
      // A partition may have been dropped meanwhile, with its file.
      if (await isGone(database, name)) return;
      const isLocked = isLockTimeout(thrown);
      if (isLocked) report.isAllDone = false;
      const reason = isLocked ? lockedReason : messageOf(thrown).split("\n")[0];
      report.notRewritten.push(`${name} (${reason})`);
    }
  };
  // Statistics hold samples of the rows, so tables that have statistics are analyzed again.
  const sampled = await sampledTables(database);
  for (const name of tables) {
    const samples = sampled.has(name);
    await attempt(name, `vacuum (full${samples ? ", analyze" : ""}) ${name}`, { samples });
  }
  // A partitioned table has statistics apart from those of its partitions.
  for (const name of partitioned) {
    if (sampled.has(name)) await attempt(name, `analyze ${name}`, { samples: true });
  }
  if (sampled.size > 0) await attempt("pg_statistic", "vacuum (full) pg_catalog.pg_statistic");
  if (database.kind === "postgres") {
    pushAll(report.notRewritten, outsidePlaces);
    return report;
  }
  await clearLog(database);
  report.rewritten.push("write-ahead log");
  return report;
}

/**
 * Removes the statistics of a table that has become empty, since `analyze` leaves these as they
 * were. Before PostgreSQL 18 only a superuser may.
 */
async function clearStaleStatistics(database: Database, table: string): Promise<void> {
  const [state] = await database.query(
    `select exists (select from ${table}) as filled,
       current_setting('server_version_num')::integer >= 180000 as clears`,
    [],
  );
  if (state?.filled) return;
  await database.query(
    state?.clears
      ? `select pg_clear_attribute_stats(schemaname::text, tablename::text, attname::text, inherited)
         from pg_stats where schemaname = current_schema() and tablename = $1::text`
      : "delete from pg_catalog.pg_statistic where starelid = $1::text::regclass",
    [table],
  );
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
