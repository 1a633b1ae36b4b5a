import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import { openAnalytics, openDatabase } from "../database/open.ts";
import { readProcessId } from "../database/process_id.ts";
import { type MasterKeySource, openMasterKey } from "../keys/store/master_key.ts";
import { type Journal, openJournal } from "../records/journal/journal.ts";
import type { Config } from "./config.ts";

/** The databases that a server or a command works on, migrated. */
export interface OpenedDatabases {
  database: Database;
  /** Where interactions stand; `database` unless it is configured. */
  analytics: Database;
}

/** What a server stands on. */
export interface OpenedStores extends OpenedDatabases {
  masterKey: MasterKeySource;
  journal: Journal;
  /** Names this process's leases over restarts. */
  processId: string;
}

/** Opens and migrates what a server stands on; `stack` closes it. */
export async function openStores(
  config: Config,
  stack: AsyncDisposableStack,
  log?: Log,
): Promise<OpenedStores> {
  const { database, analytics } = await openDatabases(config, stack, log);
  const { dataDir } = config;
  const masterKey = await openMasterKey({ configured: config.masterKey, dataDir, database });
  const journal = await openJournal(`${dataDir}/journal`, {
    sync: config.journalSync,
    maxBytes: config.journalMaxBytes,
  });
  stack.defer(() => journal.close());
  const processId = await readProcessId(dataDir, () => crypto.randomUUID());
  return { database, analytics, masterKey, journal, processId };
}

/** Opens and migrates the databases; `stack` closes them. */
export async function openDatabases(
  config: Config,
  stack: AsyncDisposableStack,
  log?: Log,
): Promise<OpenedDatabases> {
  const database = await openDatabase(config.databaseUrl, config.dataDir, log);
  stack.defer(() => database.close());
  const analytics = await openAnalytics(config, database, log);
  if (analytics !== database) stack.defer(() => analytics.close());
  return { database, analytics };
}
