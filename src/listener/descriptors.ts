import { type Descriptor, freeDescriptors } from "../base/descriptors.ts";

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
const minConnections = 8;

/**
 * Returns how many connections the limit of descriptors allows; undefined if they are many. Half of
 * those that are left, so that each caller's call has one for its vendor. `ofDatabase` returns how
 * many of the free ones the embedded database may use. Throws an Error of one line if there are too
 * few: the first calls would break database and journal.
 */
export function connectionsByDescriptors(
  open: () => Descriptor,
  ofDatabase: (free: number) => number,
): number | undefined {
  const free = freeDescriptors(open, maxProbed);
  if (free === maxProbed) return undefined;
  const reserved = ownDescriptors + ofDatabase(free);
  const needed = reserved + 2 * minConnections;
  if (free < needed) {
    throw new Error(
      `This process may open only ${free} more files (ulimit -n), and needs ${needed}: raise the limit, under systemd with LimitNOFILE.`,
    );
  }
  const left = free - reserved;
  return Math.max(minConnections, Math.min(Math.floor(left / 2), left - acceptedAtOnce));
}
