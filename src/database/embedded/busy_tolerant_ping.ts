import { type Clock, systemClock } from "../../base/clock.ts";
import { type SetTimer, within } from "../../base/deadline.ts";
import { embeddedAway } from "./thread.ts";

/** Shorter than readiness waits. */
const busyMs = 1_000;
/** Leases, from which calls are answered meanwhile, last longer by default. */
const stuckMs = 60_000;

/**
 * Builds the ping of a database that runs one statement after the other: behind a long one it is
 * busy, but well. Throws what `ask` throws, and `Fault("store_unavailable")` once an answer has not
 * come for a minute. One question is asked at a time.
 */
export function createBusyTolerantPing(
  ask: () => Promise<unknown>,
  { clock = systemClock, setTimer }: {
    clock?: Pick<Clock, "monotonicMs">;
    setTimer?: SetTimer;
  } = {},
): () => Promise<void> {
  let asked: { sinceMs: number; answer: Promise<unknown> } | undefined;
  return async () => {
    if (!asked) {
      asked = { sinceMs: clock.monotonicMs(), answer: ask().finally(() => asked = undefined) };
    }
    const { sinceMs, answer } = asked;
    if (await within(busyMs, answer, "busy", setTimer) !== "busy") return;
    if (clock.monotonicMs() - sinceMs >= stuckMs) {
      throw embeddedAway(`it has not answered for ${stuckMs / 1000} s`);
    }
  };
}
