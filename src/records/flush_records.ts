import { type SetTimer, within } from "../base/deadline.ts";
import { Fault } from "../shared/fault.ts";
import type { Recorder } from "./recorder.ts";

/**
 * Resolves when every call that this program and its other workers have answered so far is in the
 * store, so that a read that begins now includes it. Throws `store_unavailable` if the store is
 * unavailable or takes longer than `timeoutMs` (default ten seconds; `Infinity` for no limit). With
 * `accountId` it waits for this account's calls only, and so not for those of an account that another
 * session of the database has locked.
 */
export type FlushRecords = (
  options?: { timeoutMs?: number; accountId?: number },
) => Promise<void>;

const readTimeoutMs = 10_000;

export function createFlushRecords({ recorder, flushOthers, setTimer }: {
  recorder: Pick<Recorder, "drain">;
  flushOthers?: ((accountId?: number) => Promise<void>) | undefined;
  setTimer?: SetTimer;
}): FlushRecords {
  const drain = flushOthers === undefined
    ? (accountId?: number, signal?: AbortSignal) => recorder.drain(accountId, signal)
    : async (accountId?: number, signal?: AbortSignal) =>
      void await Promise.all([recorder.drain(accountId, signal), flushOthers(accountId)]);
  return async ({ timeoutMs = readTimeoutMs, accountId } = {}) => {
    if (timeoutMs === Infinity) return await drain(accountId);
    const late = new AbortController();
    const drained = drain(accountId, late.signal);
    if (await within(timeoutMs, drained, "late", setTimer) === undefined) return;
    // While an account stays locked, its reads would pile up.
    late.abort();
    throw new Fault("store_unavailable", { note: `records still wait after ${timeoutMs} ms` });
  };
}
