import type { AnalyticsStore } from "../analytics_store.ts";
import type { Database, Queryable, Transaction } from "../../database/database.ts";
import { lockForWriting } from "../../database/erasure_lock.ts";
import { codeOf, uniqueViolation } from "../../database/postgres/faults.ts";
import type { SettledCall } from "../../shared/interaction.ts";
import { dropErased, writeCalls, writeRecords, type WrittenCalls } from "./interactions.ts";
import { Partitions } from "./partitions.ts";

/** Called with the ids of calls that were erased while in flight, and so are not written. */
export type OnDropped = (transactionIds: readonly string[]) => Promise<void>;

/** Writes records. Separate from the reads, so that the writing thread loads only this. */
export type AnalyticsWriter = Pick<AnalyticsStore, "insert" | "insertPrepared">;

const maxAttempts = 5;

/**
 * Runs `write`, and again where another process wrote one of its rows at the same time. That
 * happens when a process takes over the journal of one that had only been paused. The next try
 * finds the row.
 */
async function untilUnique<T>(write: () => Promise<T>): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await write();
    } catch (thrown) {
      if (codeOf(thrown) !== uniqueViolation || attempt === maxAttempts) throw thrown;
    }
  }
}

/** Takes the same databases as `createAnalyticsStore`. */
export function createAnalyticsWriter(
  database: Database,
  main = database,
  onDropped?: OnDropped,
): AnalyticsWriter {
  const partitions = new Partitions(database);
  const sharesMain = main === database;
  const writing = async (
    rows: readonly SettledCall[],
    write: (tx: Transaction, written: WrittenCalls) => Promise<string[]>,
  ) => {
    const written = await writeCalls(rows);
    const erased = await untilUnique(() =>
      partitions.writing(rows, () => database.transaction((tx) => write(tx, written)))
    );
    if (erased.length === 0) return;
    // A deletion may have come between the two transactions.
    if (!sharesMain) await main.transaction((tx) => dropErased(tx, erased));
    await onDropped?.(erased);
  };
  const insert = async (rows: readonly SettledCall[]) => {
    if (rows.length === 0) return;
    if (sharesMain) {
      return await writing(
        rows,
        (tx, written) => writeRecords(tx, rows, ["rows", "retained"], written),
      );
    }
    // An erasure notes its calls here first: the rows' database may not know of them yet.
    const erased = await main.transaction((tx) => writeRecords(tx, rows, ["retained"], new Map()));
    await writing(rows, (tx, written) => writeRecords(tx, rows, ["rows"], written, erased));
  };
  return {
    insert,
    async insertPrepared(rows, prepare) {
      const prepared = async (tx: Queryable) => {
        await lockForWriting(tx);
        return await prepare(tx);
      };
      if (!sharesMain) return await insert(await main.transaction(prepared));
      await writing(
        rows,
        async (tx, written) =>
          await writeRecords(tx, await prepared(tx), ["rows", "retained"], written),
      );
    },
  };
}
