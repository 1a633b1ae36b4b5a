import type { Socket } from "node:net";

/** A connection of the runtime's. */
interface Handle {
  readStop(): number;
  readStart(): number;
}

/**
 * Makes a TLS socket that stops reading stop the connection that carries it, too. The runtime
 * (2.9.6) stops the socket's reader alone: it reads on below, into memory without a limit, and hands
 * over all of it in one turn once the socket reads again.
 */
export function stopBelowTls(socket: Socket & { _handle?: unknown }): void {
  const handle = socket._handle;
  if (!isHandle(handle) || !("_parent" in handle)) return;
  const below = handle._parent;
  if (!isHandle(below)) return;
  const { readStop, readStart } = handle;
  const stopBoth = () => {
    below.readStop();
    return readStop.call(handle);
  };
  const startBoth = () => {
    below.readStart();
    return readStart.call(handle);
  };
  Object.assign(handle, { readStop: stopBoth, readStart: startBoth });
}

function isHandle(value: unknown): value is Handle {
  return typeof value === "object" && value !== null && "readStop" in value && "readStart" in value;
}
