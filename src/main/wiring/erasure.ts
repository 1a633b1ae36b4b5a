import type { Clock } from "../../base/clock.ts";
import { randomBase62 } from "../../base/ids.ts";
import type { Log } from "../../base/log.ts";
import type { ExportEraser } from "../../erasure/deletion.ts";
import type { VacuumReport } from "../../erasure/vacuum.ts";
import { createDeletions, type Deletions } from "../../erasure/deletions.ts";
import { createErasures, type Erasures } from "../../erasure/erasures.ts";
import type { Idempotency } from "../../idempotency/idempotency.ts";
import type { StoredResponseCache } from "../../relay/conversation/stored_response_cache.ts";
import type { Recorder } from "../../records/recorder.ts";
import { every } from "../../shared/every.ts";
import { createVacuumJob, type VacuumJob } from "../../erasure/vacuum_job.ts";
import { createDeletions as createDeletionStore } from "../../erasure/store/deletions.ts";
import type { RecordDatabases } from "../../erasure/store/erasure.ts";
import type { Journal } from "../../records/journal/journal.ts";
import { createVacuum } from "../../erasure/store/vacuum.ts";
import { createTombstoneFile } from "../../erasure/store/tombstone_file.ts";

/** What erases records, and keeps them erased. */
export interface ErasureServices {
  erasures: Erasures;
  deletions: Deletions;
  deletionGauges: Readonly<Record<string, { help: string; read: () => number }>>;
  /** Rewrites every file that may hold erased text. */
  scrub: () => Promise<VacuumReport>;
  /** Applies again what a restored store has lost; before the first call. */
  restoreTombstones: () => Promise<void>;
  /** Ends the jobs and the step under way. */
  closeDeletions: () => Promise<void>;
}

/** What the parts are made of. */
export interface ErasureOptions {
  databases: RecordDatabases;
  dataDir: string;
  /** Names this process in claims, over restarts. */
  processId: string;
  clock: Clock;
  log: Log;
  newId: () => string;
  journal: Pick<Journal, "tidy" | "eraseRejected">;
  recorder: Pick<Recorder, "drain">;
  kept: Pick<StoredResponseCache, "forget">;
  idempotency: Pick<Idempotency, "erase">;
  exports: ExportEraser | undefined;
}

/** Other processes' erasures are heard of within this time. */
const newsMs = 1000;

export function createErasureServices(options: ErasureOptions): ErasureServices {
  const { databases, clock, log, newId, recorder } = options;
  const { main, records } = databases;
  const flushRecords = () => recorder.drain();
  const tidyJournal = async () => {
    // What the store has refused of them lies beside the journal.
    await options.journal.eraseRejected((call) => erasures.covers(call));
    await options.journal.tidy();
  };
  const store = createDeletionStore(databases, { newSalt: () => randomBase62(22) });
  const file = createTombstoneFile(`${options.dataDir}/tombstones`);
  const erasures = createErasures({
    store,
    clock,
    keep: (tombstones) => file.add(tombstones),
    forget: async (ids) => {
      options.kept.forget(ids);
      await options.idempotency.erase(ids);
    },
    tidyJournal,
  });
  const isEmbedded = main.kind === "embedded";
  const deletions = createDeletions({
    store,
    erasures,
    exports: options.exports,
    flushRecords,
    // The embedded database belongs to one process after the other.
    workerId: isEmbedded ? "embedded" : options.processId,
    clock,
    newId,
    log,
  });
  const scrubbing = createVacuumJob({
    store: createVacuum([main, records]),
    before: async () => {
      await flushRecords();
      await tidyJournal();
    },
    log,
  });
  const jobs = [
    every(newsMs, () => erasures.refresh(), log, "hear of erasures"),
    every(1000, () => deletions.runWaiting(), log, "deletions"),
    every(60_000, () => store.sweep(), log, "sweep news of erasures"),
    // On a server that others use too, tables are locked when its operator says so.
    isEmbedded
      ? every(5000, () => scrubbing.whenQuiet(), log, "scrub")
      : every(60_000, () => scrubbing.look(), log, "look whether to scrub"),
  ];
  return {
    erasures,
    deletions,
    deletionGauges: gaugesOf(deletions, scrubbing),
    scrub: () => scrubbing.all(),
    async restoreTombstones() {
      for (const tombstone of await file.read()) {
        if (!await store.restore(tombstone)) continue;
        log.warn("a deletion that the store has lost is applied again", {
          deletion: tombstone.deletionId,
        });
      }
    },
    async closeDeletions() {
      jobs.forEach((stop) => stop());
      await deletions.close();
    },
  };
}

function gaugesOf(deletions: Deletions, scrubbing: VacuumJob): ErasureServices["deletionGauges"] {
  return {
    gateway_deletions_waiting: {
      help: "Deletions that are not done yet",
      read: () => deletions.waiting.count,
    },
    gateway_deletions_oldest_seconds: {
      help: "How long the oldest of them has waited",
      read: () => deletions.waiting.seconds,
    },
    gateway_scrub_due_seconds: {
      help: "For how long erased text may have been in the database's files; 0: in none",
      read: () => scrubbing.dueSeconds,
    },
  };
}
