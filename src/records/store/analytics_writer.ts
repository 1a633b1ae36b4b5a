import type { AnalyticsStore } from "../analytics_store.ts";
import type { Database, Transaction } from "../../database/database.ts";
import { lockForWriting } from "../../database/erasure_lock.ts";
import { codeOf, uniqueViolation } from "../../database/postgres/faults.ts";
import type { InsertOptions, SettledCall } from "../../shared/interaction.ts";
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
  const inTransaction = <T>(
    where: Database,
    options: InsertOptions | undefined,
    work: (tx: Transaction) => Promise<T>,
  ) =>
    where.transaction(async (tx) => {
      await lockForWriting(tx, options);
      return await work(tx);
    });
  const writing = async (
    rows: readonly SettledCall[],
    options: InsertOptions | undefined,
    write: (tx: Transaction, written: WrittenCalls) => Promise<string[]>,
  ) => {
    const written = await writeCalls(rows);
    const erased = await untilUnique(() =>
      partitions.writing(rows, () => inTransaction(database, options, (tx) => write(tx, written)))
    );
    if (erased.length === 0) return;
    // A deletion may have come between the two transactions.
    if (!sharesMain) {
      await inTransaction(main, options, (tx) => dropErased(tx, erased));
    }
    await onDropped?.(erased);
  };
  const insert = async (rows: readonly SettledCall[], options?: InsertOptions) => {
    if (rows.length === 0) return;
    if (sharesMain) {
      return await writing(
        rows,
        options,
        (tx, written) => writeRecords(tx, rows, ["rows", "retained"], written),
      );
    }
    // An erasure notes its calls here first: the rows' database may not know of them yet.
    const erased = await inTransaction(
      main,
      options,
      (tx) => writeRecords(tx, rows, ["retained"], new Map()),
    );
    await writing(
      rows,
      options,
      (tx, written) => writeRecords(tx, rows, ["rows"], written, erased),
    );
  };
  return {
    insert,
    async insertPrepared(rows, prepare, options) {
      if (!sharesMain) return await insert(await inTransaction(main, options, prepare), options);
      await writing(
        rows,
        options,
        async (tx, written) =>
          await writeRecords(tx, await prepare(tx), ["rows", "retained"], written),
      );
    },
  };
}
