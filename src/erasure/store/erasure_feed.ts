import type { ErasureFeed } from "../deletion.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import { readTombstone } from "./tombstones.ts";

/** The most entries of each kind that one read returns; the next read returns more. */
const pageRows = 5000;

/** The last entry that was read. */
interface Position {
  seq: bigint;
  id: string;
}

/**
 * Reads each erasure once and in order: a writer holds the erasure lock until it commits, so no
 * entry becomes visible after a later one. A call that was erased while it was under way may be
 * missing, but its own process knows. After a failover that lost the last entry that was read,
 * others may get its number, and those before it: then all are read again.
 */
export function createErasureFeed(database: Queryable): { next(): Promise<ErasureFeed> } {
  let lastStone: Position = { seq: 0n, id: "" };
  let lastCall: Position | undefined;
  return {
    async next() {
      // This process holds nothing in memory that was erased before it started.
      lastCall ??= await latestCall(database);
      const stones = await database.query(
        `select * from tombstones
         where seq > case when exists (
           select from tombstones where seq = $1::bigint and deletion_id = $2
         ) then $1::bigint else 0 end
         order by seq limit $3`,
        [lastStone.seq, lastStone.id, pageRows],
      );
      const calls = await database.query(
        `select transaction_id, seq from erased_calls
         where seq > case when exists (
           select from erased_calls where seq = $1::bigint and transaction_id = $2
         ) then $1::bigint else 0 end
         order by seq limit $3`,
        [lastCall.seq, lastCall.id, pageRows],
      );
      lastStone = positionOf(stones.at(-1), "deletion_id") ?? lastStone;
      lastCall = positionOf(calls.at(-1), "transaction_id") ?? lastCall;
      return {
        tombstones: stones.map(readTombstone),
        transactionIds: calls.map((row) => String(row.transaction_id)),
      };
    },
  };
}

async function latestCall(database: Queryable): Promise<Position> {
  const [row] = await database.query(
    "select transaction_id, seq from erased_calls order by seq desc limit 1",
    [],
  );
  return positionOf(row, "transaction_id") ?? { seq: 0n, id: "" };
}

function positionOf(row: SqlRow | undefined, id: string): Position | undefined {
  return row && { seq: row.seq as bigint, id: String(row[id]) };
}
