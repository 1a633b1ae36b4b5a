import { createFairQueue } from "../base/fair_queue.ts";
import { Fault, overLimit } from "../shared/fault.ts";
import type { Database, Queryable } from "./database.ts";

/**
 * Schedules reads whose cost accounts choose (searches, lists, sums, exports): round-robin by account,
 * statement by statement, leaving connections for calls. Not for transactions.
 */
export interface FairReads {
  /** Interactive reads; PostgreSQL cancels slow ones (`Database.reads`). */
  of(accountId: number): Queryable;
  /** Bulk reads, such as table scans, which may take long. */
  inBulk(accountId: number): Queryable;
}

/** Max waiting statements per account; a page has up to a dozen. */
const waitingPerAccount = 100;

/** Create one per database: several would not share their limits. */
export function createFairReads(database: Database): FairReads {
  const isEmbedded = database.kind === "embedded";
  const limits = { waitingPerKey: waitingPerAccount, refuse: manyReads };
  // The embedded database runs one statement at a time, including the writes of calls.
  const quick = isEmbedded
    ? createFairQueue({ atOnce: 1, atOncePerKey: 1, ...limits })
    : createFairQueue({ atOnce: 4, atOncePerKey: 2, ...limits });
  const bulk = isEmbedded ? quick : createFairQueue({ atOnce: 3, atOncePerKey: 1, ...limits });
  const reads = database.reads ?? database;
  const among = (turns: typeof quick, from: Queryable) => (accountId: number): Queryable => ({
    query: (...args) => turns.run(String(accountId), () => from.query(...args)),
    ...(from.eachRow && {
      eachRow: (...args) => turns.run(String(accountId), () => from.eachRow!(...args)),
    }),
  });
  return { of: among(quick, reads), inBulk: among(bulk, database) };
}

/** Names of methods whose first argument is an account's id, or an object with one. */
type OfAccounts<T> = {
  [K in keyof T]: T[K] extends (first: infer First, ...rest: never[]) => unknown
    ? First extends number | { accountId: number } ? K : never
    : never;
}[keyof T];

/**
 * Returns these methods of the object that `create` makes; each call reads on behalf of the account
 * in its first argument.
 */
export function readsByAccount<T extends object, Name extends OfAccounts<T>>(
  of: (accountId: number) => Queryable,
  create: (database: Queryable) => T,
  names: readonly Name[],
): Pick<T, Name> {
  const methods = names.map((name) => [
    name,
    (first: number | { accountId: number }, ...rest: unknown[]) => {
      const made = create(of(typeof first === "number" ? first : first.accountId));
      return (made[name] as (...args: unknown[]) => unknown)(first, ...rest);
    },
  ]);
  return Object.fromEntries(methods);
}

function manyReads(): Fault {
  return overLimit(
    `This account has ${waitingPerAccount} reads waiting; try again when some are done.`,
    5,
  );
}
