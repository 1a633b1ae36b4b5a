import type { Clock } from "../base/clock.ts";
import { systemSetTimer } from "../base/deadline.ts";
import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import type { FairReads } from "../database/fair_reads.ts";
import type { AnalyticsStore } from "../records/analytics_store.ts";
import { type VendorLabel, withRecordedNames } from "../records/filter_conditions.ts";
import type { ExportSource } from "./export_source.ts";
import { Exports } from "./exports.ts";
import { type BucketSettings, createExportBucket } from "./store/export_bucket.ts";
import { createExportChunks } from "./store/export_chunks.ts";
import { createExportFiles } from "./store/export_files.ts";
import { createExportJobs } from "./store/export_jobs.ts";
import { createExportSource } from "./store/export_source.ts";

export interface ExportOptions {
  exportBucket: BucketSettings | undefined;
  dataDir: string;
  database: Database;
  analyticsStore: AnalyticsStore;
  /** Schedules reads of `database`. */
  reads: FairReads;
  clock: Clock;
  log: Log;
  newId: () => string;
  /** Identifies this start of the process in claims. */
  workerId: string;
  vendorLabel: VendorLabel;
}

/** Builds the exports of a process or a command; processes that call `tick` work on the jobs. */
export function createExportService(
  {
    exportBucket,
    dataDir,
    database,
    analyticsStore,
    reads,
    clock,
    log,
    newId,
    workerId,
    vendorLabel,
  }: ExportOptions,
): Exports {
  // Where several processes share a database, each must be able to serve every file.
  const isShared = database.kind === "postgres";
  return new Exports({
    jobs: createExportJobs(database, workerId),
    source: namingVendors(
      createExportSource({ analytics: analyticsStore, database, reads }),
      vendorLabel,
    ),
    stores: {
      ...(isShared
        ? { chunks: createExportChunks(database) }
        : { files: createExportFiles(`${dataDir}/exports`) }),
      ...(exportBucket ? { bucket: createExportBucket(exportBucket, clock.now) } : {}),
    },
    defaultLocation: isShared ? "chunks" : "files",
    log,
    newId,
    pause: (ms) => new Promise((resolve) => systemSetTimer(ms, resolve)),
  });
}

function namingVendors(source: ExportSource, vendorLabel: VendorLabel): ExportSource {
  return {
    ...source,
    read: (query, form) => source.read(withRecordedNames(query, vendorLabel), form),
    count: (query) => source.count(withRecordedNames(query, vendorLabel)),
  };
}
