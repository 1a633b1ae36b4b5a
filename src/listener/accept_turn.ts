import type net from "node:net";

/** A turn of a busy event loop takes longer. */
const everyMs = 20;

/**
 * Max connections that wait to be accepted. Beyond that the kernel silently drops attempts, which
 * callers repeat after 1, 3, 7 and 15 s: with the usual 511 a crowd blocked a health check for 20
 * s.
 */
export const backlog = 4_096;

/**
 * Makes the server accept connections in each turn of the event loop, however many other
 * connections have something to read. The runtime (2.9.6) polls what is ready in the order in which
 * it became ready, and accepts no connection after 128 others in the same turn (tokio's budget per
 * task). The listener then queues behind all that are ready in the next turn, and nobody is
 * accepted while those are as many, for seconds. Calling `listen` again, which a listening socket
 * may do at any time, puts the listener in front of them. Returns a function that stops this.
 */
export function takeEachTurn(server: net.Server): () => void {
  // After everything that this turn still reads, so that nothing comes before the listener in the
  // next one.
  const timer = setInterval(() => setImmediate(() => rearm(server)), everyMs);
  return () => clearInterval(timer);
}

function rearm(server: net.Server & { _handle?: unknown }): void {
  const { _handle: handle } = server;
  if (server.listening && canListen(handle)) handle.listen(backlog);
}

interface Listening {
  /** Changes nothing else if it's listening already. */
  listen(backlog: number): number;
}

function canListen(handle: unknown): handle is Listening {
  return typeof handle === "object" && handle !== null && "listen" in handle &&
    typeof handle.listen === "function";
}
