import { type SetTimer, within } from "../base/deadline.ts";
import { Fault } from "../shared/fault.ts";
import type { Recorder } from "./recorder.ts";

/**
 * Resolves when every call that this program and its other workers have answered so far is in the
 * store, so that a read that begins now includes it. Throws `store_unavailable` if the store is
 * unavailable or takes longer than `timeoutMs` (default ten seconds; `Infinity` for no limit).
 */
export type FlushRecords = (options?: { timeoutMs?: number }) => Promise<void>;

const readTimeoutMs = 10_000;

export function createFlushRecords({ recorder, flushOthers, setTimer }: {
  recorder: Pick<Recorder, "drain">;
  flushOthers?: (() => Promise<void>) | undefined;
  setTimer?: SetTimer;
}): FlushRecords {
  const drain = flushOthers === undefined
    ? () => recorder.drain()
    : async () => void await Promise.all([recorder.drain(), flushOthers()]);
  return async ({ timeoutMs = readTimeoutMs } = {}) => {
    if (timeoutMs === Infinity) return await drain();
    if (await within(timeoutMs, drain(), "late", setTimer) === undefined) return;
    throw new Fault("store_unavailable", { note: `records still wait after ${timeoutMs} ms` });
  };
}
