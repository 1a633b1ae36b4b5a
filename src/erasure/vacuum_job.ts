import type { Log } from "../base/log.ts";
import type { VacuumReport, VacuumStore } from "./vacuum.ts";

/** Rewrites files that may hold erased text; only one scrub runs at a time. */
export interface VacuumJob {
  all(): Promise<VacuumReport>;
  /** Scrubs recent erasures once the service is quiet or the time is up. To be called as a job. */
  whenQuiet(): Promise<void>;
  /** Only measures how long a scrub has been due. To be called as a job where operators scrub. */
  check(): Promise<void>;
  /** How long a scrub has been due, as of the last job; 0: none is due. */
  readonly dueSeconds: number;
}

/**
 * How long a scrub waits for a quiet moment at most: erased text must be gone from all files within
 * ten minutes, and the scrub itself takes part of that time.
 */
const quietWaitSeconds = 8 * 60;
/** How long a scrub waits for further deletions, so that it serves them all. */
const minSeconds = 10;

export function createVacuumJob({ store, before, log }: {
  store: VacuumStore;
  /** Flushes pending records and compacts the journal. */
  before: () => Promise<void>;
  log: Pick<Log, "info" | "warn">;
}): VacuumJob {
  let running: Promise<unknown> = Promise.resolve();
  let dueSeconds = 0;

  async function scrub(what: "all" | "erased"): Promise<VacuumReport> {
    await before();
    const report = await store.scrub(what);
    const { rewritten, notRewritten } = report;
    log.info("files were rewritten without erased text", { rewritten: rewritten.length });
    if (notRewritten.length > 0) log.warn("erased text may be left", { in: notRewritten.join() });
    return report;
  }

  const inTurn = (what: "all" | "erased") => {
    const next = running.then(() => scrub(what));
    running = next.catch(() => {});
    return next;
  };

  async function check() {
    const due = await store.due();
    dueSeconds = due?.seconds ?? 0;
    return due;
  }

  return {
    get dueSeconds() {
      return dueSeconds;
    },
    all: () => inTurn("all"),
    check: async () => void await check(),
    async whenQuiet() {
      const due = await check();
      if (!due || due.seconds < minSeconds) return;
      if (due.seconds < quietWaitSeconds && await store.isBusy()) return;
      await inTurn("erased");
      await check();
    },
  };
}
