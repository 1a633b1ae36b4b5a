import { sha256Hex } from "../base/hash.ts";
import type { Database, Queryable } from "./database.ts";

/** One step of the schema; steps only go forward. */
export interface Migration {
  /** Number in front of the file's name. */
  version: number;
  name: string;
  sql: string;
}

/** Key of the advisory lock under which the schema is changed and the first account is made. */
export const schemaLock = 7_305_112_604_911;

/** Reads `0001_name.sql` and so on, in order. */
export async function readMigrations(directory: URL): Promise<Migration[]> {
  const migrations: Migration[] = [];
  for await (const entry of Deno.readDir(directory)) {
    const match = /^(\d{4})_(\w+)\.sql$/.exec(entry.name);
    if (!match) continue;
    const sql = await Deno.readTextFile(new URL(entry.name, directory));
    migrations.push({ version: Number(match[1]), name: match[2]!, sql });
  }
  migrations.sort((a, b) => a.version - b.version);
  const twice = migrations.find(({ version }, at) => migrations[at + 1]?.version === version);
  if (twice) throw new Error(`Two migrations have the number ${twice.version}: renumber one.`);
  return migrations;
}

/**
 * Applies what is missing, all in one transaction under a lock: of two processes that start at
 * once one applies and the other finds it done. Gives the names of what was applied. Throws an
 * Error of one line when the database was made by a newer version, or a step's text has changed.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
): Promise<string[]> {
  return await database.transaction(async (tx) => {
    await tx.query("select pg_advisory_xact_lock($1)", [schemaLock]);
    await tx.query(`create table if not exists schema_migrations (
      version integer primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default clock_timestamp()
    )`);
    const applied = await appliedSteps(tx);
    check(applied, migrations);
    const missing = migrations.filter(({ version }) => !applied.has(version));
    for (const migration of missing) await apply(tx, migration);
    return missing.map(({ name }) => name);
  });
}

async function apply(tx: Queryable, { version, name, sql }: Migration): Promise<void> {
  await tx.query(sql);
  await tx.query(
    "insert into schema_migrations (version, name, checksum) values ($1, $2, $3)",
    [version, name, sha256Hex(sql)],
  );
}

interface Applied extends Record<string, unknown> {
  version: number;
  name: string;
  checksum: string;
}

async function appliedSteps(tx: Queryable): Promise<Map<number, Applied>> {
  const rows = await tx.query<Applied>("select version, name, checksum from schema_migrations");
  return new Map(rows.map((row) => [row.version, row]));
}

function check(applied: ReadonlyMap<number, Applied>, migrations: readonly Migration[]): void {
  const known = new Map(migrations.map((migration) => [migration.version, migration]));
  for (const { version, name, checksum } of applied.values()) {
    const migration = known.get(version);
    if (!migration) {
      throw new Error(
        `The database was made by a newer version of this service (step ${version} ${name}): start that version, or restore a backup.`,
      );
    }
    if (sha256Hex(migration.sql) !== checksum) {
      throw new Error(
        `The migration ${version} ${migration.name} has changed since it was applied: put its file back as it was, and write a new one.`,
      );
    }
  }
}
