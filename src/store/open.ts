import type { Secret } from "../base/secret.ts";
import type { Database } from "./database.ts";
import { openEmbedded } from "./embedded.ts";
import { migrate, readMigrations } from "./migrate.ts";
import { openPostgres } from "./postgres.ts";

/**
 * Opens the database and brings it up to date: PostgreSQL where an address is given, else the
 * embedded one below the data directory. The directory must be claimed by this process.
 */
export async function openDatabase(
  databaseUrl: Secret | undefined,
  dataDir: string,
): Promise<Database> {
  const database = databaseUrl
    ? await openPostgres(databaseUrl.reveal())
    : await openEmbedded(`${dataDir}/database`);
  try {
    await migrate(database, await readMigrations(new URL("../../migrations/", import.meta.url)));
    return database;
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
}
