import type { Queryable, SqlRow, Transaction } from "./database.ts";

export interface OpenTransaction extends Transaction {
  commit(): Promise<void>;
  /** Never throws; if it can't roll back, it ends the connection. */
  rollback(): Promise<void>;
}

/**
 * Runs `work` in a transaction, the same on both databases: queries run one after the other, and a
 * failed query fails the transaction even if `work` catches its error, since the server would not
 * commit.
 */
export async function transact<T>(
  transaction: OpenTransaction,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  let failed: { thrown: unknown } | undefined;
  let hasEnded = false;
  let previous: Promise<unknown> = Promise.resolve();
  const run = async <R>(statement: () => Promise<R>) => {
    if (hasEnded) throw new Error("the transaction has ended already");
    try {
      return await statement();
    } catch (thrown) {
      failed ??= { thrown };
      throw thrown;
    }
  };
  const inTurn = <R>(statement: () => Promise<R>) => {
    const result = previous.then(() => run(statement));
    previous = result.catch(() => {});
    return result;
  };
  const tx: Transaction = {
    ...transaction.sendsBytes && { sendsBytes: true },
    query: <Row extends SqlRow>(...statement: Parameters<Queryable["query"]>) =>
      inTurn(() => transaction.query<Row>(...statement)),
    copyIn: (...rows) => inTurn(() => transaction.copyIn(...rows)),
  };
  let result: T;
  try {
    result = await work(tx);
    await previous;
    hasEnded = true;
    if (failed) throw failed.thrown;
  } catch (thrown) {
    hasEnded = true;
    await previous;
    await transaction.rollback();
    throw thrown;
  }
  // A failed commit has rolled back.
  await transaction.commit();
  return result;
}
