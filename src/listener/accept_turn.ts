import type net from "node:net";

/** A turn of a loop that has much to do takes longer. */
const everyMs = 20;

/**
 * Connections that wait to be accepted. Beyond them the kernel drops attempts unsaid, which callers
 * repeat after 1, 3, 7 and 15 s: with the usual 511 a crowd kept a health check out for 20 s.
 */
export const backlog = 4_096;

/**
 * Sees to it that connections are taken in each turn of the loop, however many others have something
 * to read. The runtime (2.9.6) polls what is ready in the order in which it became so, and takes no
 * connection after 128 others in the same turn (the budget that tokio gives a task); the listener
 * then stands behind all that are ready in the next turn, and nobody is taken as long as those are
 * so many, for seconds. To say again that it listens, which a listening socket may do at any time,
 * puts it in front of them. Gives what ends that.
 */
export function takeEachTurn(server: net.Server): () => void {
  // Behind what this turn still reads, so that nothing stands before it in the next one.
  const timer = setInterval(() => setImmediate(() => sayAgain(server)), everyMs);
  return () => clearInterval(timer);
}

function sayAgain(server: net.Server & { _handle?: unknown }): void {
  const { _handle: handle } = server;
  if (server.listening && canListen(handle)) handle.listen(backlog);
}

interface Listening {
  /** Where it listens already it changes nothing. */
  listen(backlog: number): number;
}

function canListen(handle: unknown): handle is Listening {
  return typeof handle === "object" && handle !== null && "listen" in handle &&
    typeof handle.listen === "function";
}
