import { greatest } from "../base/lists.ts";
import type { Queryable } from "./database.ts";
import { checksumOf, type Migration } from "./migration_file.ts";

/** The schema version of a database. */
export interface SchemaVersion {
  /** The applied steps, by number. */
  readonly applied: ReadonlyMap<number, { readonly name: string; readonly checksum: string }>;
  /** The last of them; 0 in an empty database. */
  readonly version: number;
  /** The oldest schema version whose programs work with it. */
  readonly minCompatible: number;
}

const createTable = `create table if not exists schema_migrations (
  version integer primary key,
  name text not null,
  checksum text not null,
  phase text not null,
  -- The oldest schema version whose programs work with the database from this step on.
  min_compatible_version integer not null,
  applied_at timestamptz not null default clock_timestamp()
)`;

/** Creates the table of applied steps; part of the first step's transaction. */
export async function prepareSchema(tx: Queryable): Promise<void> {
  await tx.query(createTable);
}

/**
 * Throws an Error of one line if a development version from before the first release created the
 * database: its table of steps has no `min_compatible_version`.
 */
export async function readSchemaVersion(database: Queryable): Promise<SchemaVersion> {
  const columns = await database.query(
    `select attname as name from pg_attribute
     where attrelid = to_regclass('schema_migrations') and attnum > 0 and not attisdropped`,
    [],
  );
  if (columns.length === 0) return { applied: new Map(), version: 0, minCompatible: 0 };
  if (!columns.some(({ name }) => name === "min_compatible_version")) {
    throw new Error(
      "The database was made by a development version from before the first release, which can't be upgraded: keep its data by exporting it with that version, and start this one with a new database (another DATABASE_URL, or another DATA_DIR for the embedded database).",
    );
  }
  const rows = await database.query(
    "select version, name, checksum, min_compatible_version from schema_migrations",
    [],
  );
  const steps = rows.map((row) =>
    [
      Number(row.version),
      { name: String(row.name), checksum: String(row.checksum) },
    ] as const
  );
  return {
    applied: new Map(steps),
    version: greatest(rows.map((row) => Number(row.version)), 0),
    minCompatible: greatest(rows.map((row) => Number(row.min_compatible_version)), 0),
  };
}

/** Throws an Error of one line if a program with these steps is incompatible with the database. */
export function checkCompatible(
  { applied, version, minCompatible }: SchemaVersion,
  migrations: readonly Migration[],
): void {
  const own = migrations.at(-1)?.version ?? 0;
  const existing = new Map(migrations.map((migration) => [migration.version, migration]));
  for (const [number, { name, checksum }] of applied) {
    const migration = existing.get(number);
    if (migration && checksumOf(migration) !== checksum) {
      throw new Error(
        `The migration ${number} ${migration.name} has changed since it was applied: put its file back as it was, and write a new one.`,
      );
    }
    if (!migration && number < own) {
      throw new Error(
        `The database has a migration that this version doesn't know (step ${number} ${name}): start the version that made it, or restore a backup.`,
      );
    }
  }
  if (version > own && own < minCompatible) {
    throw new Error(
      `The database was changed by a newer version of this service (step ${version} ${
        applied.get(version)!.name
      }) and works with schema version ${minCompatible} or newer, while this program is of schema version ${own}: start a newer version, or restore a backup.`,
    );
  }
}

/** Records an applied step; part of its transaction. */
export async function recordStep(tx: Queryable, step: Migration): Promise<void> {
  await tx.query(
    `insert into schema_migrations (version, name, checksum, phase, min_compatible_version)
     select $1::integer, $2, $3, $4,
       greatest($5::integer, (select coalesce(max(min_compatible_version), 1) from schema_migrations))`,
    [step.version, step.name, checksumOf(step), step.phase, step.worksWith ?? 1],
  );
}
