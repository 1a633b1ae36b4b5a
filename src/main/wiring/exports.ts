import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Config } from "../config.ts";
import { createFlushRecords } from "../../records/flush_records.ts";
import { createExports, type Exports } from "../../exports/exports.ts";
import type { Recorder } from "../../records/recorder.ts";
import { every } from "../../shared/every.ts";
import type { Database } from "../../database/database.ts";
import { createExportBucket } from "../../exports/store/export_bucket.ts";
import { createExportChunks } from "../../exports/store/export_chunks.ts";
import { createExportFiles } from "../../exports/store/export_files.ts";
import { createExportJobs } from "../../exports/store/export_jobs.ts";
import { createFairReads, type FairReads } from "../../database/fair_reads.ts";
import { fairSource } from "./fair_stores.ts";

/** How records are read in bulk. */
export interface ExportServices {
  exports: Exports;
  /** Ends the work on jobs and gives back what runs. */
  closeExports: () => Promise<void>;
  /** Resolves when a read that begins now includes every call that was answered here. */
  flushRecords: () => Promise<void>;
}

/** What exports are made of. */
export interface ExportOptions {
  config: Config;
  database: Database;
  /** Where interactions stand; `database` unless it is configured. */
  analytics: Database;
  /** Turns of reading these; a command has nobody to take turns with. */
  reads?: FairReads;
  clock: Clock;
  log: Log;
  newId: () => string;
}

/** How soon a job that waits, or that a dead process left, is taken up. */
const beatMs = 2000;
const sweepMs = 60_000;

export function createExportServices(
  options: ExportOptions & { recorder: Recorder },
): ExportServices {
  const { log, recorder } = options;
  const exports = exportsOf(options);
  const jobs = [
    every(beatMs, () => exports.tick(), log, "exports"),
    every(sweepMs, () => exports.sweep(), log, "sweep exports"),
  ];
  return {
    exports,
    flushRecords: createFlushRecords({ recorder, later }),
    async closeExports() {
      for (const stop of jobs) stop();
      await exports.close();
    },
  };
}

/** Exports of a process or of a command; jobs are worked on by whoever calls `tick`. */
export function exportsOf(
  { config, database, analytics, reads, clock, log, newId }: ExportOptions,
): Exports {
  const { exportBucket, dataDir } = config;
  // Where several processes share a database, each must be able to give a file.
  const isShared = database.kind === "postgres";
  return createExports({
    jobs: createExportJobs(database),
    source: fairSource(
      analytics,
      reads ?? createFairReads(analytics),
      database === analytics ? undefined : database,
    ),
    stores: {
      ...(isShared
        ? { chunks: createExportChunks(database) }
        : { files: createExportFiles(`${dataDir}/exports`) }),
      ...(exportBucket ? { bucket: createExportBucket(exportBucket, clock.now) } : {}),
    },
    ownPlace: isShared ? "chunks" : "files",
    log,
    newId,
    pause: (ms) => new Promise((resolve) => later(ms, resolve)),
  });
}

function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
