import { type SetTimer, within } from "../base/deadline.ts";
import type { Log } from "../base/log.ts";
import { reasonOf } from "../shared/fault.ts";
import { heldUpMs, type Recorder } from "./recorder.ts";

/**
 * Stores the records that wait when the process ends, as many as the database takes in five seconds.
 * The journal has the others for the next start.
 */
export async function storeLastRecords(
  recorder: Pick<Recorder, "drain" | "close" | "waiting">,
  log: Pick<Log, "warn">,
  setTimer?: SetTimer,
): Promise<void> {
  try {
    if (await within(heldUpMs, recorder.drain(), "late", setTimer) !== "late") return;
    // What follows needs the database.
    recorder.close();
    log.warn("records that the database did not take in time stay in the journal", {
      waiting: recorder.waiting,
    });
  } catch (thrown) {
    log.warn(
      "the database is unavailable at shutdown: queued records stay in the journal for the next start",
      { waiting: recorder.waiting, reason: reasonOf(thrown) },
    );
  }
}
