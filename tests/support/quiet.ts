import { availableParallelism } from "node:os";

/** How many test files run at a time (`tests/run/gate.ts`). */
const jobs = Number(Deno.env.get("DENO_JOBS") ?? 1);

/**
 * Whether this test runs alone and the machine was nearly idle in the last minute: only then do
 * times by the clock say something about the service. Call it before the test itself makes the
 * machine busy. In the first seconds of a run, the last minute says nothing of the other tests.
 */
export function isQuietMachine(): boolean {
  const [lastMinute = Infinity] = Deno.loadavg();
  return jobs === 1 && lastMinute < availableParallelism() / 4;
}

const isQuietHere = isQuietMachine();

/**
 * Returns the limit by which to judge a promised time: the time itself if the machine was quiet
 * when the test file began, else twenty times as much, which only shows that nothing hangs.
 */
export function promisedMs(ms: number): number {
  return isQuietHere ? ms : 20 * ms;
}
