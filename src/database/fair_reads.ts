import { createFairQueue } from "../base/fair_queue.ts";
import { Fault } from "../shared/fault.ts";
import type { Database, Queryable } from "./database.ts";

/**
 * Reads whose cost accounts choose: searches, lists, sums, exports. Accounts take turns with single
 * statements, and some connections are left to calls whatever is read. Not for transactions.
 */
export interface FairReads {
  /** Somebody waits for them: on PostgreSQL they end after some time (`Database.reads`). */
  of(accountId: number): Queryable;
  /** Reads in bulk; those of a pass through a table may take long. */
  inBulk(accountId: number): Queryable;
}

/** Statements of one account that wait; a page has up to a dozen. */
const waitingPerAccount = 100;

/** The only one of a database, or turns would not be taken. */
export function createFairReads(database: Database): FairReads {
  const isEmbedded = database.kind === "embedded";
  const limits = { waitingPerKey: waitingPerAccount, refuse: manyReads };
  // Whatever reaches the embedded database runs one after the other, calls' rows as well.
  const quick = isEmbedded
    ? createFairQueue({ atOnce: 1, atOncePerKey: 1, ...limits })
    : createFairQueue({ atOnce: 4, atOncePerKey: 2, ...limits });
  const bulk = isEmbedded ? quick : createFairQueue({ atOnce: 3, atOncePerKey: 1, ...limits });
  const reads = database.reads ?? database;
  const among = (turns: typeof quick, from: Queryable) => (accountId: number): Queryable => ({
    query: (...asked) => turns.run(String(accountId), () => from.query(...asked)),
  });
  return { of: among(quick, reads), inBulk: among(bulk, database) };
}

function manyReads(): Fault {
  return new Fault("rate_limit_exceeded", {
    message: `This account has ${waitingPerAccount} reads waiting; try again when some are done.`,
    retryAfterSeconds: 5,
  });
}
