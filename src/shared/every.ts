import type { Log } from "../base/log.ts";
import { messageOf } from "./fault.ts";

/**
 * Runs a job again and again, `ms` after its last end (`firstMs` after now, the first time); never
 * two at once. Stops when told.
 */
export function every(
  ms: number,
  job: () => Promise<void>,
  log: Log,
  name: string,
  firstMs = ms,
): () => void {
  let stopped = false;
  let failing = false;
  let timer: ReturnType<typeof setTimeout>;
  const run = async () => {
    try {
      await job();
      failing = false;
    } catch (thrown) {
      // Said once: a store that is away for an hour is one event, not thousands.
      if (!failing) log.warn("a background job fails", { job: name, reason: messageOf(thrown) });
      failing = true;
    }
    if (!stopped) timer = setTimeout(run, ms);
  };
  timer = setTimeout(run, firstMs);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
