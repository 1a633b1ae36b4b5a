/** Something that takes a file descriptor, such as an open file. */
export interface Descriptor {
  close(): void;
}

/**
 * Opening more would add milliseconds to each start. `AcceptWatch` learns higher limits when they
 * are reached.
 */
const maxProbed = 2_100;
/** Descriptors that the service itself needs: for its journal, logs, sockets and PostgreSQL. */
const ownDescriptors = 40;
/**
 * The runtime accepts this many connections at once, before one that was ended to make room closes.
 */
const acceptedAtOnce = 128;
const minConnections = 16;

/**
 * Returns how many connections the limit of descriptors allows; undefined if they are many. Opens
 * some to find out, since a process may not read its limit. Half of those that are left, so that each
 * caller's call has one for its vendor. `ofDatabase`: what the embedded database may open. Throws an
 * Error of one line if there are too few: the first calls would break database and journal.
 */
export function connectionsByDescriptors(
  open: () => Descriptor,
  ofDatabase: number,
): number | undefined {
  const opened: Descriptor[] = [];
  try {
    while (opened.length < maxProbed) opened.push(open());
    return undefined;
  } catch {
    const free = opened.length - ownDescriptors - ofDatabase;
    const connections = Math.min(Math.floor(free / 2), free - acceptedAtOnce);
    if (connections >= minConnections) return connections;
  } finally {
    for (const one of opened) one.close();
  }
  const needed = ownDescriptors + ofDatabase + acceptedAtOnce + minConnections;
  throw new Error(
    `This process may open only ${opened.length} more files (ulimit -n), and needs ${needed}: raise the limit, under systemd with LimitNOFILE.`,
  );
}
