import { embeddedDatabaseIn } from "./data_dir.ts";
import { programFile } from "../base/program_files.ts";
import type { Log } from "../base/log.ts";
import type { Secret } from "../base/secret.ts";
import type { Database } from "./database.ts";
import { openEmbedded } from "./embedded/embedded.ts";
import { migrate } from "./migrate.ts";
import { readMigrations } from "./migration_file.ts";
import { openPostgres } from "./postgres/postgres.ts";

/**
 * Opens and migrates the database: PostgreSQL if a URL is set, else the embedded one below the data
 * directory, which this process must have claimed. `embeddedModule` is the `module` of
 * `openEmbedded`.
 */
export async function openDatabase(
  databaseUrl: Secret | undefined,
  dataDir: string,
  log?: Log,
  embeddedModule?: URL,
): Promise<Database> {
  return await migrated(
    databaseUrl
      ? await openPostgres(databaseUrl.reveal())
      : await openEmbedded(embeddedDatabaseIn(dataDir), embeddedModule),
    log,
  );
}

/**
 * Opens and migrates the database of interactions. It has the same tables, but those of accounts and
 * money stay empty. Returns `database` if no URL, or the same one, is set.
 */
export async function openAnalytics(
  urls: { analyticsDatabaseUrl: Secret | undefined; databaseUrl: Secret | undefined },
  database: Database,
  log?: Log,
): Promise<Database> {
  const url = urls.analyticsDatabaseUrl?.reveal();
  if (url === undefined || url === urls.databaseUrl?.reveal()) return database;
  return await migrated(await openPostgres(url, { variable: "ANALYTICS_DATABASE_URL" }), log);
}

async function migrated(database: Database, log?: Log): Promise<Database> {
  try {
    const migrations = await readMigrations(programFile("migrations/"));
    await migrate(database, migrations, log ? { log } : {});
    return database;
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
}
