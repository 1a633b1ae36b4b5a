import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { RetentionStore } from "./retention.ts";

/** How often partitions are created ahead and old records erased. */
export const retentionEveryMs = 60 * 60 * 1000;

/** The first run comes soon, for processes that don't live for an hour. */
export const retentionFirstMs = 10_000;

export interface RetentionDeps {
  store: RetentionStore;
  clock: Clock;
  log: Log;
  /** `RETENTION_PAYLOAD_DAYS`; undefined: as long as usage rows. */
  retentionPayloadDays: number | undefined;
  /** `RETENTION_USAGE_DAYS`; undefined: forever. */
  retentionUsageDays: number | undefined;
}

/** Builds the job's function. Days are of 24 hours, counted back from now. */
export function createRetentionJob(deps: RetentionDeps): () => Promise<void> {
  const { store, clock, log, retentionPayloadDays, retentionUsageDays: usageDays } = deps;
  const daysAgo = (days: number) => new Date(clock.now().getTime() - days * 24 * 60 * 60 * 1000);
  return async () => {
    await store.ensurePartitions(clock.now());
    // Payloads are kept no longer than their rows.
    const days = Math.min(retentionPayloadDays ?? Infinity, usageDays ?? Infinity);
    if (days !== Infinity) {
      tell(log, "old payloads erased", await store.erasePayloads(daysAgo(days)));
    }
    if (usageDays !== undefined) {
      tell(log, "old usage rows erased", await store.eraseUsage(daysAgo(usageDays)));
    }
  };
}

function tell(log: Log, message: string, counts: object | undefined): void {
  if (counts && Object.values(counts).some((count) => count > 0)) log.info(message, { ...counts });
}
