/** Something that takes a file descriptor, such as an open file. */
export interface Descriptor {
  close(): void;
}

/**
 * Opening more would add milliseconds to each start. `AcceptWatch` learns higher limits when they
 * are reached.
 */
const maxProbed = 2_100;
/** Descriptors that the service itself needs: for its database, journal and standard streams. */
const ownDescriptors = 40;
/**
 * The runtime accepts this many connections at once, before one that was ended to make room closes.
 */
const acceptedAtOnce = 128;

/**
 * Returns how many connections the limit of descriptors allows; undefined if they are many. Opens
 * some to find out, since a process may not read its limit. Half of the free ones, so that each
 * caller's call has one for its vendor.
 */
export function connectionsByDescriptors(open: () => Descriptor): number | undefined {
  const opened: Descriptor[] = [];
  try {
    while (opened.length < maxProbed) opened.push(open());
    return undefined;
  } catch {
    const free = opened.length - ownDescriptors;
    return Math.max(8, Math.min(Math.floor(free / 2), free - acceptedAtOnce));
  } finally {
    for (const one of opened) one.close();
  }
}
