import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { dayMs } from "../shared/time_span.ts";
import type { RejectedRetention, RetentionStore } from "./retention.ts";

/** How often partitions are created ahead and old records erased. */
export const retentionEveryMs = 60 * 60 * 1000;

/** The first run comes soon, for processes that don't live for an hour. */
export const retentionFirstMs = 10_000;

interface RetentionLimits {
  /** `RETENTION_PAYLOAD_DAYS`; undefined: as long as usage rows. */
  retentionPayloadDays: number | undefined;
  /** `RETENTION_USAGE_DAYS`; undefined: forever. */
  retentionUsageDays: number | undefined;
}

interface RetentionDeps extends RetentionLimits {
  store: RetentionStore;
  clock: Clock;
  log: Log;
}

/** Builds the job. A step that fails keeps no other from its run; the first failure is thrown. */
export function createRetentionJob(deps: RetentionDeps): () => Promise<void> {
  const { store, clock, log } = deps;
  return async () => {
    const failures: unknown[] = [];
    const attempt = <T>(step: () => Promise<T>) =>
      step().catch((thrown) => void failures.push(thrown));
    await attempt(() => store.ensurePartitions(clock.now()));
    const now = await attempt(() => earlierTime(deps));
    const { payloadsBefore, rowsBefore } = now ? limitsAt(now, deps) : noLimits;
    if (payloadsBefore) {
      const counts = await attempt(() => store.erasePayloads(payloadsBefore));
      logErased(log, "old payloads erased", counts ?? undefined);
    }
    if (rowsBefore) {
      const counts = await attempt(() => store.eraseUsage(rowsBefore));
      logErased(log, "old usage rows erased", counts ?? undefined);
    }
    if (failures.length > 0) throw failures[0];
  };
}

/** The same for the files beside a process's journal; works while the store is unreachable too. */
export function createJournalRetentionJob(
  deps: Omit<RetentionDeps, "store"> & { journal: RejectedRetention },
): () => Promise<void> {
  const { journal, clock, log } = deps;
  return async () => {
    const { payloadsBefore, rowsBefore } = limitsAt(clock.now(), deps);
    if (!payloadsBefore) return;
    const counts = await journal.expire({ payloadsBefore, rowsBefore });
    logErased(log, "old rejected records erased", counts);
  };
}

const noLimits = { payloadsBefore: undefined, rowsBefore: undefined };

/**
 * Returns the time by our clock or the database's, whichever is earlier: if one was set ahead,
 * records must not be erased too early.
 */
async function earlierTime(
  { store, clock }: Pick<RetentionDeps, "store" | "clock">,
): Promise<Date> {
  const [ours, theirs] = [clock.now(), await store.now()];
  return ours < theirs ? ours : theirs;
}

/** Days are of 24 hours, counted back from now. */
function limitsAt(
  now: Date,
  { retentionPayloadDays, retentionUsageDays: usageDays }: RetentionLimits,
): { payloadsBefore: Date | undefined; rowsBefore: Date | undefined } {
  const daysAgo = (days: number) => new Date(now.getTime() - days * dayMs);
  // No payload outlives its row.
  const payloadDays = Math.min(retentionPayloadDays ?? Infinity, usageDays ?? Infinity);
  return {
    payloadsBefore: payloadDays === Infinity ? undefined : daysAgo(payloadDays),
    rowsBefore: usageDays === undefined ? undefined : daysAgo(usageDays),
  };
}

function logErased(log: Log, message: string, counts: object | undefined): void {
  if (counts && Object.values(counts).some((count) => count > 0)) log.info(message, { ...counts });
}
