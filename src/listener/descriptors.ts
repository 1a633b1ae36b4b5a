/** What needs a descriptor to be held; an open file. */
export interface Descriptor {
  close(): void;
}

/** Opening more takes milliseconds of each start; the watch learns higher limits when they are met. */
const mostTried = 2_100;
/** That the service itself needs: its database, journal and standard streams. */
const ownDescriptors = 40;
/** The runtime takes as many connections in one go, before one that makes room for another closes. */
const acceptedAtOnce = 128;

/**
 * How many connections the limit of descriptors allows, found by opening some, since a process may
 * not read its limit: half of them, so that each caller's call finds one for its vendor. Undefined
 * where there are many.
 */
export function connectionsByDescriptors(open: () => Descriptor): number | undefined {
  const opened: Descriptor[] = [];
  try {
    while (opened.length < mostTried) opened.push(open());
    return undefined;
  } catch {
    const free = opened.length - ownDescriptors;
    return Math.max(8, Math.min(Math.floor(free / 2), free - acceptedAtOnce));
  } finally {
    for (const one of opened) one.close();
  }
}
