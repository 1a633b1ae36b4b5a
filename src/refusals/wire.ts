import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import { refusalDays } from "./refusal.ts";
import { RefusalRecorder } from "./refusal_recorder.ts";
import { createRefusalStore } from "./store/refusals.ts";

export function createRefusals(
  { database, clock, log }: { database: Database; clock: Clock; log: Log },
) {
  const refusalStore = createRefusalStore(database);
  const daysMs = refusalDays * 24 * 3_600_000;
  return {
    refusalRecorder: new RefusalRecorder({ store: refusalStore, clock, log }),
    refusalStore,
    /** Deletes refused calls whose time is over. */
    sweepRefusals: () => refusalStore.sweep(new Date(clock.now().getTime() - daysMs)),
  };
}

export type RefusalServices = ReturnType<typeof createRefusals>;
