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

/**
 * Resolves a connection's host, with the signature of `dns.lookup`. Not called for a literal
 * address.
 */
export type Lookup = (
  name: string,
  options: { readonly all?: boolean | undefined },
  done: (error: Error | null, addresses: string | ResolvedAddress[], family?: number) => void,
) => void;

/**
 * Builds a connector that resolves hosts with `lookup`. `ca`: certificates that are trusted in
 * place of the well-known ones.
 */
export function publicConnector(options: { lookup: Lookup; ca?: string }): Connector {
  const { lookup, ca } = options;
  return createConnector({
    rejectUnauthorized: true,
    lookup: lookup as NonNullable<net.TcpNetConnectOpts["lookup"]>,
    ...(ca === undefined ? {} : { ca }),
  });
}

/**
 * Builds a pool that keeps no connections, so that each request checks its host's addresses again.
 */
export function publicConnections(clock: Clock, connector: Connector): ConnectionPool {
  return new ConnectionPool({ clock, connector, maxPerHost: Infinity, keepMs: 0, settleMs: 0 });
}

/** Builds a lookup for hosts that the operator allowed: any address will do. */
export function plainLookup(resolve: Resolve): Lookup {
  return lookupWith(resolve, () => true);
}

/**
 * Builds a lookup that finds public hosts only. It runs inside the connection that uses its result,
 * so the checked addresses are those connected to, whatever the name's server answers next time
 * (DNS rebinding). A name with one private address is refused as a whole: no public service has
 * one.
 */
export function publicLookup(resolve: Resolve): Lookup {
  return lookupWith(resolve, (found) => found.every(({ address }) => isPublicAddress(address)));
}

/** The system's resolver, hosts file included. Each lookup blocks one of the runtime's threads. */
export const systemResolve: Resolve = (name) => dns.promises.lookup(name, { all: true });

/**
 * Builds the queue for name lookups, in which accounts take turns. The runtime looks names up in
 * the few threads that also write the journal, and a name whose servers don't answer holds one for
 * many seconds; so all lookups of a process share one queue.
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

/** For the internal note only: callers get the same text as for an unknown name. */
class NotPublic extends Error {
  readonly code = "not_public";
}
