import type { AnalyticsStore, OnDropped } from "../analytics_store.ts";
import type { Database, Transaction } from "../../database/database.ts";
import { lockForWriting } from "../../database/erasure_lock.ts";
import { codeOf, uniqueViolation } from "../../database/postgres/faults.ts";
import type { InsertOptions, SettledCall } from "../../shared/interaction.ts";
import { dropErased, writeCalls, writeRecords, type WrittenCalls } from "./interactions.ts";
import { Partitions } from "./partitions.ts";

/** Writes records. Separate from the reads, so that the writing thread loads only this. */
export type AnalyticsWriter = Pick<AnalyticsStore, "insert" | "insertPrepared">;

const maxAttempts = 5;

/**
 * Runs `write` for rows that are taken to be new, and again with `mayExist` where one of them
 * exists. That is rare: the first process to write a row may have ended before it could remove it
 * from its journal, or have lost the connection while it committed. Another process may also write
 * the row at the same time, if it took over the journal of one that had only been paused.
 */
async function untilUnique<T>(write: (mayExist: boolean) => Promise<T>): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await write(attempt > 1);
    } catch (thrown) {
      if (codeOf(thrown) !== uniqueViolation || attempt === maxAttempts) throw thrown;
    }
  }
}

function inTransaction<T>(
  where: Database,
  options: InsertOptions | undefined,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return where.transaction(async (tx) => {
    await lockForWriting(tx, options);
    return await work(tx);
  });
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
    options: InsertOptions | undefined,
    write: (tx: Transaction, written: WrittenCalls, mayExist: boolean) => Promise<string[]>,
  ) => {
    const written = await writeCalls(rows);
    const erased = await untilUnique((mayExist) =>
      partitions.writing(
        rows,
        () => inTransaction(database, options, (tx) => write(tx, written, mayExist)),
      )
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
        (tx, written, mayExist) =>
          writeRecords(tx, rows, ["rows", "retained"], written, { mayExist }),
      );
    }
    // An erasure notes its calls here first: the rows' database may not know of them yet.
    const erased = await inTransaction(
      main,
      options,
      (tx) => writeRecords(tx, rows, ["retained"], new Map(), { mayExist: true }),
    );
    await writing(
      rows,
      options,
      (tx, written, mayExist) =>
        writeRecords(tx, rows, ["rows"], written, { erasedElsewhere: erased, mayExist }),
    );
  };
  return {
    insert,
    async insertPrepared(rows, prepare, options) {
      if (!sharesMain) return await insert(await inTransaction(main, options, prepare), options);
      await writing(
        rows,
        options,
        async (tx, written, mayExist) =>
          await writeRecords(tx, await prepare(tx), ["rows", "retained"], written, { mayExist }),
      );
    },
  };
}
