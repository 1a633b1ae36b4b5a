import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Config } from "../config.ts";
import type { AuditLog } from "../../audit/audit.ts";
import type { MediaStore } from "../../shared/media.ts";
import { createMediaSigner, type MediaSigner } from "../../records/signed_media.ts";
import { every } from "../../shared/every.ts";
import {
  createRetentionJob,
  retentionEveryMs,
  retentionFirstMs,
} from "../../erasure/retention_job.ts";
import { createAuditLog } from "../../audit/store/audit.ts";
import type { Database } from "../../database/database.ts";
import { createFairReads, type FairReads } from "../../database/fair_reads.ts";
import type { MasterKeySource } from "../../keys/store/master_key.ts";
import { createMedia } from "../../records/store/media.ts";
import { createRetention } from "../../erasure/store/retention.ts";
import { refreshStatistics } from "../../database/table_statistics.ts";

/** What is kept beside the rows of calls, and how all of it goes. */
export interface RecordServices {
  /** Where interactions, payloads and media stand; the database itself unless configured. */
  analytics: Database;
  /** Turns of reading them. */
  reads: FairReads;
  media: MediaStore;
  mediaSigner: MediaSigner;
  /** What people and operators did, for good. */
  audit: AuditLog;
}

/** `stopUpkeep` ends the job that erases what is too old. */
export function createRecordServices(deps: {
  config: Config;
  database: Database;
  analytics: Database;
  masterKey: MasterKeySource;
  clock: Clock;
  log: Log;
}): RecordServices & { stopUpkeep: () => void } {
  const { config, database, analytics, masterKey, clock, log } = deps;
  const store = createRetention(database, analytics);
  const eraseOld = createRetentionJob({ ...config, store, clock, log });
  const stopErasing = every(retentionEveryMs, eraseOld, log, "retention", retentionFirstMs);
  const stopStatistics = analytics.kind === "embedded"
    ? every(statisticsEveryMs, () => refreshStatistics(analytics), log, "statistics")
    : () => {};
  return {
    analytics,
    reads: createFairReads(analytics),
    media: createMedia(analytics),
    audit: createAuditLog(database, clock.now),
    mediaSigner: createMediaSigner({
      mac: (text) => masterKey.current().signAddress(text),
      now: clock.now,
    }),
    stopUpkeep() {
      stopErasing();
      stopStatistics();
    },
  };
}

/** A server does so by itself. */
const statisticsEveryMs = 5 * 60 * 1000;
