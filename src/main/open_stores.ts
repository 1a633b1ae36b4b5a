import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import { openAnalytics, openDatabase } from "../database/open.ts";
import { readProcessId } from "../database/data_dir.ts";
import { type MasterKeySource, openMasterKey } from "../keys/store/master_key.ts";
import { type Journal, openJournal } from "../records/journal/journal.ts";
import type { Config } from "./config.ts";

/** What a server stands on. */
export interface OpenedStores {
  database: Database;
  /** The database of interactions; `database` unless `ANALYTICS_DATABASE_URL` is set. */
  analytics: Database;
  masterKey: MasterKeySource;
  journal: Journal;
  /** The owner of this process's leases, also after a restart. */
  processId: string;
}

/** Opens and migrates the databases and opens the journal; `stack` closes them. */
export async function openStores(
  config: Config,
  stack: AsyncDisposableStack,
  log?: Log,
): Promise<OpenedStores> {
  const { dataDir } = config;
  const database = await openMain(config, stack, log);
  const analytics = await openInteractions(config, database, stack, log);
  const masterKey = await openMasterKey({ configured: config.masterKey, dataDir, database });
  const journal = await openJournal(`${dataDir}/journal`, {
    sync: config.journalSync,
    maxBytes: config.journalMaxBytes,
  });
  stack.defer(() => journal.close());
  const processId = await readProcessId(dataDir, () => crypto.randomUUID());
  return { database, analytics, masterKey, journal, processId };
}

/** Opens and migrates the main database; `stack` closes it. */
export async function openMain(
  { databaseUrl, dataDir }: Config,
  stack: AsyncDisposableStack,
  log?: Log,
): Promise<Database> {
  const database = await openDatabase(databaseUrl, dataDir, log);
  stack.defer(() => database.close());
  return database;
}

/** Opens and migrates the database of interactions, if it is not `database`; `stack` closes it. */
export async function openInteractions(
  config: Config,
  database: Database,
  stack: AsyncDisposableStack,
  log?: Log,
): Promise<Database> {
  const analytics = await openAnalytics(config, database, log);
  if (analytics !== database) stack.defer(() => analytics.close());
  return analytics;
}
