import { availableParallelism } from "node:os";

/**
 * Whether the machine had next to nothing to do in the last minute: only then do times on the wall
 * say something about the service. To be asked before the test itself makes the machine busy.
 */
export function isQuietMachine(): boolean {
  const [lastMinute = Infinity] = Deno.loadavg();
  return lastMinute < availableParallelism() / 4;
}
