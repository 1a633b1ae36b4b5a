import type { ServerResponse } from "node:http";

/**
 * Closes the connection of an incomplete answer once the bytes written so far are sent. The missing
 * last chunk tells the caller that the answer is cut off.
 */
export function breakOff(outgoing: ServerResponse, reason?: unknown): void {
  const destroy = () => void outgoing.destroy(reason instanceof Error ? reason : undefined);
  const { socket } = outgoing;
  if (!socket || outgoing.destroyed) return destroy();
  outgoing.flushHeaders();
  socket.end();
  const timer = setTimeout(destroy, leavingMs);
  outgoing.once("close", () => clearTimeout(timer));
}

/** How long the caller may take to receive the bytes already written. */
const leavingMs = 5_000;
