import type { ErasureFeed } from "../deletion.ts";
import type { Queryable } from "../../database/database.ts";
import { readTombstone } from "./tombstones.ts";

/** The most entries of each kind that one read returns; the next read returns more. */
const pageRows = 5000;

/**
 * Reads each erasure once and in order: a writer holds the erasure lock until it commits, so no
 * entry becomes visible after a later one. A call that was erased while it was under way may be
 * missing, but its own process knows.
 */
export function createErasureFeed(database: Queryable): { next(): Promise<ErasureFeed> } {
  let tombstonesTo = 0n;
  let callsTo: bigint | undefined;
  return {
    async next() {
      // This process holds nothing in memory that was erased before it started.
      callsTo ??= await lastCall(database);
      const stones = await database.query(
        "select * from tombstones where seq > $1 order by seq limit $2",
        [tombstonesTo, pageRows],
      );
      const calls = await database.query(
        "select transaction_id, seq from erased_calls where seq > $1 order by seq limit $2",
        [callsTo, pageRows],
      );
      tombstonesTo = stones.at(-1)?.seq as bigint | undefined ?? tombstonesTo;
      callsTo = calls.at(-1)?.seq as bigint | undefined ?? callsTo;
      return {
        tombstones: stones.map(readTombstone),
        transactionIds: calls.map((row) => String(row.transaction_id)),
      };
    },
  };
}

async function lastCall(database: Queryable): Promise<bigint> {
  const [row] = await database.query("select coalesce(max(seq), 0) as last from erased_calls", []);
  return row!.last as bigint;
}
