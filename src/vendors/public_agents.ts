import dns from "node:dns";
import type net from "node:net";
import type { Clock } from "../base/clock.ts";
import { createFairQueue, type FairQueue } from "../base/fair_queue.ts";
import { isPublicAddress } from "./public_address.ts";
import { type Connector, createConnector } from "./http1/connect.ts";
import { ConnectionPool } from "./upstream_pool.ts";

export type Resolve = (name: string) => Promise<readonly ResolvedAddress[]>;

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** What a connection asks for the addresses of its host; none is asked for a literal address. */
export type Lookup = (
  name: string,
  options: { readonly all?: boolean | undefined },
  done: (error: Error | null, addresses: string | ResolvedAddress[], family?: number) => void,
) => void;

/** Connections that go where `lookup` says. `ca`: trusted in place of the well-known ones. */
export function publicConnector(options: { lookup: Lookup; ca?: string }): Connector {
  const { lookup, ca } = options;
  return createConnector({
    rejectUnauthorized: true,
    lookup: lookup as NonNullable<net.TcpNetConnectOpts["lookup"]>,
    ...(ca === undefined ? {} : { ca }),
  });
}

/** No connection is kept: a host that was public a moment ago is looked at again. */
export function publicConnections(clock: Clock, connector: Connector): ConnectionPool {
  return new ConnectionPool({ clock, connector, maxPerHost: Infinity, keepMs: 0, settleMs: 0 });
}

/** Finds a host of the operator's: any address will do. */
export function plainLookup(resolve: Resolve): Lookup {
  return lookupWith(resolve, () => true);
}

/**
 * Finds public hosts only. It runs inside the connection that uses its answer, so what was checked
 * is what is connected to, whatever the name's server answers next time (DNS rebinding). A name
 * with one private address is refused as a whole: no public service has that.
 */
export function publicLookup(resolve: Resolve): Lookup {
  return lookupWith(resolve, (found) => found.every(({ address }) => isPublicAddress(address)));
}

/** The system's resolver, hosts file included. Each lookup blocks one of the runtime's threads. */
export const systemResolve: Resolve = (name) => dns.promises.lookup(name, { all: true });

/**
 * Turns for looking up names, accounts round-robin. The runtime looks names up in the few threads
 * that also write the journal, and a name whose servers don't answer holds one for many seconds: for
 * all lookups of a process there is one such queue.
 */
export function createLookupTurns(): FairQueue {
  return createFairQueue({ atOnce: 8, atOncePerKey: 4 });
}

function lookupWith(
  resolve: Resolve,
  permits: (found: readonly ResolvedAddress[]) => boolean,
): Lookup {
  return (name, { all }, done) => {
    const fail = (error: Error) => done(error, all === true ? [] : "");
    resolve(name).then((found) => {
      const [first] = found;
      if (first === undefined || !permits(found)) return fail(new NotPublic());
      if (all === true) done(null, [...found]);
      else done(null, first.address, first.family);
    }, fail);
  };
}

/** For the internal note only: callers get the same text as for a name that nobody knows. */
class NotPublic extends Error {
  readonly code = "not_public";
}
