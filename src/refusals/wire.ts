import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import { refusalDays, type RefusalStore } from "./refusal.ts";
import { createRefusalRecorder, type RefusalRecorder } from "./refusal_recorder.ts";
import { createRefusalStore } from "./store/refusals.ts";

export interface RefusalServices {
  refusalRecorder: RefusalRecorder;
  refusalStore: RefusalStore;
  /** Deletes refused calls older than `refusalDays`. */
  sweepRefusals: () => Promise<void>;
}

export function createRefusals(
  { database, clock, log }: { database: Database; clock: Clock; log: Log },
): RefusalServices {
  const refusalStore = createRefusalStore(database);
  const daysMs = refusalDays * 24 * 3_600_000;
  return {
    refusalRecorder: createRefusalRecorder({ store: refusalStore, clock, log }),
    refusalStore,
    sweepRefusals: async () =>
      void await refusalStore.sweep(new Date(clock.now().getTime() - daysMs)),
  };
}
