import { programFile } from "../base/program_files.ts";
import type { Log } from "../base/log.ts";
import type { Secret } from "../base/secret.ts";
import type { Database } from "./database.ts";
import { openEmbedded } from "./embedded/embedded.ts";
import { migrate } from "./migrate.ts";
import { readMigrations } from "./migration_file.ts";
import { openPostgres } from "./postgres/postgres.ts";

/**
 * Opens the database and brings it up to date: PostgreSQL where an address is given, else the
 * embedded one below the data directory. The directory must be claimed by this process.
 */
export async function openDatabase(
  databaseUrl: Secret | undefined,
  dataDir: string,
  log?: Log,
): Promise<Database> {
  return await migrated(
    databaseUrl
      ? await openPostgres(databaseUrl.reveal())
      : await openEmbedded(`${dataDir}/database`),
    log,
  );
}

/**
 * Opens the database of the interaction store, which has the same tables and leaves those of
 * accounts and money empty; `database` itself where no address, or the same one, is given.
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
