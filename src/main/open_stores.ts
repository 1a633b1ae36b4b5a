import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import { openAnalytics, openDatabase } from "../database/open.ts";
import { codeOf, readOnly } from "../database/postgres/faults.ts";
import { claimProcessDir, readProcessId, workerDir, workerDirs } from "../database/data_dir.ts";
import { type MasterKeySource, openMasterKey } from "../keys/store/master_key.ts";
import type { AnalyticsOptions, AnalyticsStore } from "../records/analytics_store.ts";
import { type Journal, openJournal } from "../records/journal/journal.ts";
import { type JournalStatus, readJournalStatus, sumOfJournals } from "../records/journal/status.ts";
import { createAnalyticsStore } from "../records/store/analytics_store.ts";
import {
  embeddedWriter,
  openWriteThread,
  type WriterThreads,
  type WriteThread,
} from "../records/store/write_thread.ts";
import { onlySeat, type WorkerSeat } from "../workers/parent_link.ts";
import type { Config } from "./config.ts";

/** The databases, files and ids that a server is built on. */
export interface OpenedStores {
  database: Database;
  analytics: OpenedAnalytics;
  masterKey: MasterKeySource;
  journal: Journal;
  /** Where records are written; absent: in the main thread. */
  writeThread?: WriteThread;
  /** The owner of this process's leases, also after a restart. */
  processId: string;
  /** Where this process keeps journal, tombstones and its id: `DATA_DIR`, or below it. */
  processDir: string;
  /** The directories of former workers, whose journals and leases this process takes over. */
  leftDirs: readonly string[];
}

/** Opens and migrates the databases and opens the journal; `stack` closes them. */
export async function openStores(
  config: Config,
  stack: AsyncDisposableStack,
  { log, seat = onlySeat, writerThreads }: {
    log?: Log;
    seat?: WorkerSeat;
    writerThreads?: WriterThreads | undefined;
  },
): Promise<OpenedStores> {
  const { dataDir } = config;
  const processDir = workerDir(dataDir, seat.index);
  const claim = await claimProcessDir(processDir);
  stack.defer(() => claim.close());
  const database = await writable(
    "DATABASE_URL",
    () => openMain(config, stack, log, embeddedWriter),
  );
  const analytics = await writable(
    "ANALYTICS_DATABASE_URL",
    () => openAnalyticsStore(config, database, stack, log),
  );
  const writeThread = openWriteThread(database, writerThreads);
  stack.defer(() => writeThread.close());
  const masterKey = await openMasterKey({ configured: config.masterKey, dataDir, database });
  const journal = await openJournal(`${processDir}/journal`, {
    sync: config.journalSync,
    maxBytes: config.journalMaxBytes,
  });
  stack.defer(() => journal.close());
  const processId = await readProcessId(
    processDir,
    () => crypto.randomUUID(),
    // After a restore that is right; of a running process it is not.
    () => log?.warn("this DATA_DIR is a copy: its journal is recovered as well", { processDir }),
  );
  const left = [...await workerDirs(dataDir)].filter(([index]) => index > seat.count);
  const leftDirs = seat.index === 1 ? left.map(([, path]) => path) : [];
  return {
    ...{ database, analytics, writeThread, masterKey, journal },
    ...{ processId, processDir, leftDirs },
  };
}

/** Reads the journals of a data directory, those of workers too. */
export async function readJournals(config: Config): Promise<JournalStatus> {
  const { dataDir, journalSync: sync, journalMaxBytes: maxBytes } = config;
  const own = await readJournalStatus(`${dataDir}/journal`, { sync, maxBytes });
  const workers = [...(await workerDirs(dataDir)).values()];
  const others = workers.map((path) => readJournalStatus(`${path}/journal`, { sync, maxBytes: 0 }));
  return sumOfJournals([own, ...await Promise.all(others)]);
}

/** Opens a database. Throws a one-line Error that names `variable` if the database is read-only. */
async function writable<T extends Pick<Database, "ping">>(
  variable: string,
  open: () => Promise<T>,
): Promise<T> {
  try {
    const opened = await open();
    await opened.ping();
    return opened;
  } catch (thrown) {
    if (codeOf(thrown) !== readOnly) throw thrown;
    throw new Error(
      `${variable}: PostgreSQL accepts no writes (${readOnly}), like a standby; use the address of the primary, and turn default_transaction_read_only off.`,
      { cause: thrown },
    );
  }
}

/** Opens and migrates the main database; `stack` closes it. `embeddedModule`: see `openEmbedded`. */
export async function openMain(
  { databaseUrl, dataDir }: Config,
  stack: AsyncDisposableStack,
  log?: Log,
  embeddedModule?: URL,
): Promise<Database> {
  const database = await openDatabase(databaseUrl, dataDir, log, embeddedModule);
  stack.defer(() => database.close());
  return database;
}

/** The store of interactions, opened. */
export interface OpenedAnalytics {
  create(options: AnalyticsOptions): AnalyticsStore;
  ping: Database["ping"];
}

/**
 * Opens and migrates the database of interactions, unless it is `database`; `stack` closes it. A
 * different kind of store would be chosen here, since nothing else accesses that database.
 */
export async function openAnalyticsStore(
  config: Config,
  database: Database,
  stack: AsyncDisposableStack,
  log?: Log,
): Promise<OpenedAnalytics> {
  const analytics = await openAnalytics(config, database, log);
  if (analytics !== database) stack.defer(() => analytics.close());
  return {
    create: (options) => createAnalyticsStore(analytics, database, options),
    ping: () => analytics.ping(),
  };
}
