import { programFile } from "../base/program_files.ts";
import type { Secret } from "../base/secret.ts";
import type { Database } from "./database.ts";
import { openEmbedded } from "./embedded/embedded.ts";
import { migrate, readMigrations } from "./migrate.ts";
import { openPostgres } from "./postgres/postgres.ts";

/**
 * Opens the database and brings it up to date: PostgreSQL where an address is given, else the
 * embedded one below the data directory. The directory must be claimed by this process.
 */
export async function openDatabase(
  databaseUrl: Secret | undefined,
  dataDir: string,
): Promise<Database> {
  return await migrated(
    databaseUrl
      ? await openPostgres(databaseUrl.reveal())
      : await openEmbedded(`${dataDir}/database`),
  );
}

/**
 * Opens the database of the interaction store, which has the same tables and leaves those of
 * accounts and money empty; `database` itself where no address, or the same one, is given.
 */
export async function openAnalytics(
  urls: { analyticsDatabaseUrl: Secret | undefined; databaseUrl: Secret | undefined },
  database: Database,
): Promise<Database> {
  const url = urls.analyticsDatabaseUrl?.reveal();
  if (url === undefined || url === urls.databaseUrl?.reveal()) return database;
  return await migrated(await openPostgres(url, { variable: "ANALYTICS_DATABASE_URL" }));
}

async function migrated(database: Database): Promise<Database> {
  try {
    await migrate(database, await readMigrations(programFile("migrations/")));
    return database;
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
}
