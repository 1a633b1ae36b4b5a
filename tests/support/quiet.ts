import { availableParallelism } from "node:os";

/**
 * Whether the machine had next to nothing to do in the last minute: only then do times on the wall
 * say something about the service. To be asked before the test itself makes the machine busy.
 */
export function isQuietMachine(): boolean {
  const [lastMinute = Infinity] = Deno.loadavg();
  return lastMinute < availableParallelism() / 4;
}

const isQuietHere = isQuietMachine();

/**
 * A promised time as it is judged here: itself on a machine that was quiet when the test file
 * began, twenty times as much on a busy one, where it says only that nothing hangs.
 */
export function promisedMs(ms: number): number {
  return isQuietHere ? ms : 20 * ms;
}
