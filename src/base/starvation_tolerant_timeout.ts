import { type SetTimer, systemSetTimer } from "./deadline.ts";

/** A wait is this many short ones. */
const slices = 20;

/**
 * Runs `run` once after `ms`; the answer takes it back. Where the process itself is too busy to look
 * at its timers and sockets the wait is longer: what it waits for may be there, unread.
 */
export function starvationTolerantTimeout(
  ms: number,
  run: () => void,
  setTimer: SetTimer = systemSetTimer,
): () => void {
  let left = slices;
  const next = () => setTimer(ms / slices, () => --left > 0 ? cancel = next() : run());
  let cancel = next();
  return () => cancel();
}
