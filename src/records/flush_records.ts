import { Fault } from "../shared/fault.ts";
import type { Recorder } from "./recorder.ts";

export interface FlushRecordsDeps {
  recorder: Pick<Recorder, "drain">;
  /** `setTimeout`; the function returned takes it back. */
  later: (ms: number, run: () => void) => () => void;
  /** How long a read may wait. */
  limitMs?: number;
}

/**
 * Resolves when what this process has recorded so far is in the store, so that a read that begins
 * after an answer was received includes that call. Throws `store_unavailable` when the store is
 * away, or can't keep up.
 */
export function createFlushRecords(
  { recorder, later, limitMs = 10_000 }: FlushRecordsDeps,
): () => Promise<void> {
  return async () => {
    const late = Promise.withResolvers<never>();
    const cancel = later(limitMs, () =>
      late.reject(
        new Fault("store_unavailable", { note: `records still wait after ${limitMs} ms` }),
      ));
    try {
      await Promise.race([recorder.drain(), late.promise]);
    } finally {
      cancel();
    }
  };
}
