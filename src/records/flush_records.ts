import { type SetTimer, systemSetTimer } from "../base/deadline.ts";
import { Fault } from "../shared/fault.ts";
import type { Recorder } from "./recorder.ts";

/**
 * Resolves when every call that this process has answered so far is in the store, so that a read
 * that begins now includes it. Throws `store_unavailable` if the store is unavailable or takes longer
 * than `timeoutMs` (default ten seconds; `Infinity` for no limit).
 */
export type FlushRecords = (options?: { timeoutMs?: number }) => Promise<void>;

const readTimeoutMs = 10_000;

export function createFlushRecords(
  { recorder, setTimer = systemSetTimer }: {
    recorder: Pick<Recorder, "drain">;
    setTimer?: SetTimer;
  },
): FlushRecords {
  return async ({ timeoutMs = readTimeoutMs } = {}) => {
    if (timeoutMs === Infinity) return await recorder.drain();
    const late = Promise.withResolvers<never>();
    const cancel = setTimer(timeoutMs, () =>
      late.reject(
        new Fault("store_unavailable", { note: `records still wait after ${timeoutMs} ms` }),
      ));
    try {
      await Promise.race([recorder.drain(), late.promise]);
    } finally {
      cancel();
    }
  };
}
