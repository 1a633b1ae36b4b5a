import { type SetTimer, within } from "../base/deadline.ts";
import type { Journal } from "./journal/journal.ts";
import type { WriteReplayed } from "./journal/recovery.ts";
import { heldUpMs, type Recorder } from "./recorder.ts";

/**
 * Returns what stores the calls that journals of earlier runs hold. Where records still wait for
 * locked rows after five seconds, this process's journal takes them over, with all that follow, so
 * that the start needn't wait for them: they are then like records of calls that it has answered.
 */
export function createReplayedWriter({ recorder, journal, setTimer }: {
  recorder: Pick<Recorder, "record" | "drain" | "unsaved" | "inMemory">;
  journal: Pick<Journal, "takeOver">;
  setTimer?: SetTimer;
}): WriteReplayed {
  let takesOver = false;
  return async (calls) => {
    const { unsaved } = recorder;
    const taken: Promise<void>[] = [];
    for (const call of calls) {
      // First, so that the recorder can leave the record to the journal if memory is full.
      if (takesOver) taken.push(journal.takeOver(call));
      recorder.record(call);
    }
    await Promise.all(taken);
    await recorder.drain("free");
    if (!takesOver && await within(heldUpMs, recorder.drain(), "late", setTimer) === "late") {
      takesOver = true;
      await Promise.all(recorder.inMemory.map((call) => journal.takeOver(call)));
    }
    return recorder.unsaved === unsaved;
  };
}
