import { type SetTimer, within } from "../base/deadline.ts";
import { Fault } from "../shared/fault.ts";
import type { Recorder } from "./recorder.ts";

interface FlushOptions {
  timeoutMs?: number;
  accountId?: number;
  freeOnly?: true;
}

/**
 * Resolves when every call that this program and its other workers have answered so far is in the
 * store, so that a read that begins now includes it. Throws `store_unavailable` if the store is
 * unavailable or takes longer than `timeoutMs` (default ten seconds; `Infinity` for no limit). With
 * `accountId` it waits for this account's calls only, with `freeOnly` for those of all accounts but
 * the ones that another session of the database has locked.
 */
export type FlushRecords = (
  options?: FlushOptions,
) => Promise<void>;

const readTimeoutMs = 10_000;

export function createFlushRecords({ recorder, flushOthers, setTimer }: {
  recorder: Pick<Recorder, "drain">;
  flushOthers?: ((options: FlushOptions) => Promise<void>) | undefined;
  setTimer?: SetTimer;
}): FlushRecords {
  const drain = async (options: FlushOptions, signal?: AbortSignal) => {
    const own = recorder.drain(options.freeOnly ? "free" : options.accountId, signal);
    await (flushOthers ? Promise.all([own, flushOthers(options)]) : own);
  };
  return async ({ timeoutMs = readTimeoutMs, ...accounts } = {}) => {
    if (timeoutMs === Infinity) return await drain(accounts);
    const late = new AbortController();
    const drained = drain({ ...accounts, timeoutMs }, late.signal);
    if (await within(timeoutMs, drained, "late", setTimer) === undefined) return;
    // While an account stays locked, its reads would pile up.
    late.abort();
    throw new Fault("store_unavailable", { note: `records still wait after ${timeoutMs} ms` });
  };
}
