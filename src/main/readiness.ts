import { type SetTimer, starvationTolerantTimeout, within } from "../base/deadline.ts";
import { Fault } from "../shared/fault.ts";

/** Shorter than what probes themselves wait: they get an answer, and none waits for a lost server. */
const answerMs = 2_000;

/**
 * Builds the check of `/readyz`. Probes that come while one is waiting share its question, so that
 * many of them hold one connection.
 */
export function createReadiness(
  ask: () => Promise<void>,
  setTimer: SetTimer = starvationTolerantTimeout,
): () => Promise<void> {
  let asked: Promise<void> | undefined;
  const answer = async () => {
    if (await within(answerMs, ask(), "late", setTimer) === "late") {
      const cause = new Error(`the database has not answered for ${answerMs / 1000} s`);
      throw new Fault("store_unavailable", { cause });
    }
  };
  return () => asked ??= answer().finally(() => asked = undefined);
}
