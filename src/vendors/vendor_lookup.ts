import { createFairQueue } from "../base/fair_queue.ts";
import { type Lookup, plainLookup, type Resolve } from "./public_agents.ts";

/** Lookups of one name at once. A second one, since the packet of the first may be lost. */
const maxPerName = 2;
/** Lookups of all vendors' names at once; the runtime has about 32 threads for these and its files. */
const maxAtOnce = 12;

/**
 * Builds the lookup of vendors' names. The runtime looks names up in the threads that also write the
 * journal, and a name whose servers don't answer holds one for many seconds. So there are few
 * lookups at once, whose results are shared by all who wait for the same name.
 */
export function vendorLookup(resolve: Resolve): Lookup {
  const turns = createFairQueue({ atOnce: maxAtOnce, atOncePerKey: maxPerName });
  const underWay = new Map<string, Set<ReturnType<Resolve>>>();
  return plainLookup((name) => {
    const lookups = underWay.get(name) ?? new Set();
    if (lookups.size < maxPerName) {
      const lookup = turns.run(name, () => resolve(name)).finally(() => {
        lookups.delete(lookup);
        if (lookups.size === 0) underWay.delete(name);
      });
      lookups.add(lookup);
      underWay.set(name, lookups);
      return lookup;
    }
    return Promise.race(lookups);
  });
}
