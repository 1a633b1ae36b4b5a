import type { Log } from "../base/log.ts";
import type { VacuumReport, VacuumStore } from "./vacuum.ts";

/** Rewrites files that may hold erased text; never twice at once. */
export interface VacuumJob {
  all(): Promise<VacuumReport>;
  /** A job: scrubs what was erased lately when the service is quiet or the time is up. */
  whenQuiet(): Promise<void>;
  /** A job where an operator scrubs: only measures for how long it has been due. */
  look(): Promise<void>;
  /** How long erased text may have been in files, as a job saw it last; 0: it is in none. */
  readonly dueSeconds: number;
}

/** Erased text leaves all files within ten minutes; the physical purge takes part of that time. */
const lockWaitSeconds = 8 * 60;
/** Waits for further deletions, so that one scrub serves them all. */
const leastSeconds = 10;

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

  async function look() {
    const due = await store.due();
    dueSeconds = due?.seconds ?? 0;
    return due;
  }

  return {
    get dueSeconds() {
      return dueSeconds;
    },
    all: () => inTurn("all"),
    look: async () => void await look(),
    async whenQuiet() {
      const due = await look();
      if (!due || due.seconds < leastSeconds) return;
      if (due.isBusy && due.seconds < lockWaitSeconds) return;
      await inTurn("erased");
      await look();
    },
  };
}
