import type { Clock } from "../base/clock.ts";
import { randomBase62 } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import type { AnalyticsStore } from "../records/analytics_store.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import type { FlushRecords } from "../records/flush_records.ts";
import type { Journal } from "../records/journal/journal.ts";
import type { StoredResponseCache } from "../relay/conversation/stored_response_cache.ts";
import type { ReadMeasure } from "../shared/metrics.ts";
import type { ExportEraser } from "./deletion.ts";
import { Deletions } from "./deletions.ts";
import { createErasures, type ErasureIndex } from "./erasures.ts";
import { restoreTombstones } from "./store/restore_tombstones.ts";
import { covers } from "./tombstone.ts";
import { createDeletions } from "./store/deletions.ts";
import { createTombstoneFile } from "./store/tombstone_file.ts";
import { createVacuum } from "./store/vacuum.ts";
import { workerIdOf } from "../work_queue/store/claims.ts";
import { createVacuumJob, type VacuumJob } from "./vacuum_job.ts";

export interface ErasureOptions {
  database: Database;
  analyticsStore: AnalyticsStore;
  /** The directory of this process's tombstone file. */
  processDir: string;
  /** Identifies this process in claims; stays the same over restarts. */
  processId: string;
  clock: Clock;
  log: Log;
  newId: () => string;
  erasureIndex: ErasureIndex;
  journal: Pick<Journal, "compact" | "eraseRejected" | "removeUnreadable">;
  flushRecords: FlushRecords;
  /** Makes the other processes of this program do `leaveNoErasedText` too. */
  compactOthers: () => Promise<void>;
  storedResponses: Pick<StoredResponseCache, "forget">;
  idempotency: Pick<Idempotency, "erase">;
  exports: ExportEraser | undefined;
  retentionUsageDays: number | undefined;
}

export function createErasureServices(options: ErasureOptions) {
  const { database, analyticsStore, processId, clock, log, newId } = options;
  const { erasureIndex, flushRecords, journal } = options;
  const compactJournal = createCompaction(journal, erasureIndex);
  const store = createDeletions({ main: database, analytics: analyticsStore }, {
    newSalt: () => randomBase62(22),
    workerId: workerIdOf({ processId, run: newId() }),
  });
  const fileIn = (directory: string) => createTombstoneFile(`${directory}/tombstones`);
  const file = fileIn(options.processDir);
  const erasures = createErasures({
    index: erasureIndex,
    store,
    keep: (tombstones) => file.add(tombstones),
    async eraseRejected(tombstones) {
      await journal.eraseRejected((call) => tombstones.some((stone) => covers(stone, call)));
    },
    forget: async (ids) => {
      options.storedResponses.forget(ids);
      await options.idempotency.erase(ids);
    },
    compactJournal,
  });
  const deletions = new Deletions({
    ...{ store, index: erasureIndex, erasures, exports: options.exports },
    ...{ flushRecords, clock, newId, log, retentionUsageDays: options.retentionUsageDays },
  });
  const leaveNoErasedText = async () => {
    await erasures.refresh();
    await compactJournal();
  };
  const vacuum = createVacuumJob({
    store: createVacuum(database, analyticsStore),
    before: async () => {
      // A deletion has waited for the records of its account.
      await flushRecords({ timeoutMs: Infinity, freeOnly: true });
      await leaveNoErasedText();
      await options.compactOthers();
    },
    log,
  });
  return {
    deletions,
    arrivalOf: erasureIndex.arrivalOf,
    deletionGauges: gaugesOf(deletions, vacuum),
    /** Rewrites every file that may hold erased text. */
    scrub: () => vacuum.all(),
    /** Leaves no erased text in this process's journal. */
    leaveNoErasedText,
    /** Before the first call: applies what a restored store has lost, and keeps what others have. */
    async restoreTombstones(otherDirs: readonly string[]) {
      for (const directory of otherDirs) await file.add(await fileIn(directory).read());
      await restoreTombstones(store, await file.read(), log);
    },
    erasures,
    vacuum,
    sweepErasureFeed: () => store.sweep(),
  };
}

/** Returns what removes erased records from the files of this process. */
function createCompaction(
  journal: ErasureOptions["journal"],
  erasureIndex: ErasureIndex,
): () => Promise<void> {
  /**
   * Up to which tombstone the calls in flight were compared, so that many deletions don't compare
   * them with all others each time. A call is compared with all of them when it begins.
   */
  let comparedTo = 0;
  return async () => {
    // Records that the store rejected are in a file beside the journal.
    await journal.eraseRejected((call) => erasureIndex.covers(call));
    await journal.removeUnreadable();
    const { latest } = erasureIndex;
    await journal.compact((call) => erasureIndex.covers(call, comparedTo));
    comparedTo = latest;
  };
}

/** What erases records, and keeps them erased. */
export type ErasureServices = ReturnType<typeof createErasureServices>;

function gaugesOf(
  deletions: Deletions,
  scrubbing: VacuumJob,
): Readonly<Record<string, ReadMeasure>> {
  return {
    gateway_deletions_waiting: {
      help: "Unfinished deletions",
      overWorkers: "max",
      read: () => deletions.waiting.count,
    },
    gateway_deletions_oldest_seconds: {
      help: "How long the oldest unfinished deletion has waited",
      overWorkers: "max",
      read: () => deletions.waiting.seconds,
    },
    gateway_scrub_due_seconds: {
      help: "How long erased text may have been in the database's files; 0: none is",
      overWorkers: "max",
      read: () => scrubbing.dueSeconds,
    },
  };
}
