import type { Clock } from "../base/clock.ts";
import { systemSetTimer } from "../base/deadline.ts";
import type { Log } from "../base/log.ts";
import type { CopyRoom } from "../base/copy_room.ts";
import type { ReadAhead } from "../base/read_ahead.ts";
import { refundCharge } from "../credit/store/refund_charge.ts";
import type { Database } from "../database/database.ts";
import type { AnalyticsStore } from "../records/analytics_store.ts";
import type { FlushRecords } from "../records/flush_records.ts";
import { isStoreAway, reasonOf } from "../shared/fault.ts";
import type { SelectableCall } from "../shared/interaction.ts";
import { type Duplicate, Idempotency } from "./idempotency.ts";
import { createReplays } from "./store/replays.ts";

export interface IdempotencyOptions {
  database: Database;
  analyticsStore: AnalyticsStore;
  processId: string;
  clock: Clock;
  log: Log;
  newId: () => string;
  pause: (ms: number) => Promise<void>;
  flushRecords: FlushRecords;
  readAhead: ReadAhead;
  copies: CopyRoom;
  /** Whether a call was erased while it was under way. */
  isErased: (call: SelectableCall) => boolean;
}

const refundAttempts = 60;
const refundPauseMs = 1000;

export function createIdempotencyServices(options: IdempotencyOptions) {
  const { database, processId, clock, log, newId, readAhead, copies, isErased } = options;
  const store = createReplays(database, { processId });
  return {
    idempotency: new Idempotency({
      store,
      clock,
      newId,
      setTimer: systemSetTimer,
      log,
      readAhead,
      copies,
      isErased,
      onDuplicate: (duplicate) => refund(options, duplicate),
    }),
    /** Removes answers that are no longer kept. */
    sweepReplays: async () => void await store.sweep(),
  };
}

/** Refunds a call whose request another call had already answered. */
async function refund(
  { database, analyticsStore, flushRecords, log, pause }: IdempotencyOptions,
  duplicate: Duplicate,
): Promise<void> {
  const note = `the same request was answered by ${duplicate.originalId ?? "another call"}`;
  const attempt = async () => {
    await flushRecords({ timeoutMs: Infinity, accountId: duplicate.accountId });
    await refundCharge(database, { ...duplicate, note }, analyticsStore);
  };
  try {
    // Duplicates are found when the store is back, while the call's own row may not be written yet.
    for (let made = 1; made < refundAttempts; made++) {
      if (await attempt().then(() => true, isTemporary)) return;
      await pause(refundPauseMs);
    }
    await attempt();
  } catch (thrown) {
    log.error("a second charge could not be refunded", {
      transaction: duplicate.transactionId,
      reason: reasonOf(thrown),
    });
  }
}

/** False when a later attempt may succeed; throws everything else. */
function isTemporary(thrown: unknown): boolean {
  if (isStoreAway(thrown)) return false;
  throw thrown;
}
