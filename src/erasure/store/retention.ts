import type { ErasedPayloads, ErasedUsage, RetentionStore } from "../retention.ts";
import type { Database, Queryable, SqlValue } from "../../database/database.ts";
import { codeOf } from "../../database/postgres/faults.ts";
import { countedColumns, countErased, countMonthErased } from "../../usage/store/count_usage.ts";
import { eraseResults } from "../../evals/store/stale_results.ts";

/** Rows that go in one transaction, so that nobody waits long for a row or a lock. */
const batchRows = 2000;
/** Blocks of a partition, 8 KiB each, whose rows go in one transaction: a few thousand rows. */
const batchBlocks = 128;
/** How long dropping a partition waits for who reads it; everyone who comes later waits behind. */
const dropWaitMs = 1000;
/** Keys of advisory locks: one process at a time erases (or opens months, `open_month`). */
const retentionLock = 7_305_112_604_913;

/**
 * Retention on PostgreSQL, served or embedded: partitions that lie wholly before a limit are
 * dropped, other rows deleted in batches. A partition that someone reads for long is emptied
 * in place, and dropped by a later run. Rows stand in `analytics`, what is kept for later turns and
 * evaluations in `main`.
 */
export function createRetention(main: Database, analytics = main): RetentionStore {
  const erasing = { main, analytics, alone };
  return {
    async ensurePartitions(now) {
      for (const ahead of [0, 1, 2]) {
        const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead));
        await analytics.query("select open_month($1)", [month]);
      }
    },
    async erasePayloads(limit) {
      return await whileAlone(async () => {
        const gone = await emptyTable(analytics, "interaction_payloads", limit);
        await deleteOld(main, "background_calls", limit);
        return {
          partitions: gone.partitions,
          payloads: gone.rows,
          mediaRefs: await deleteOld(analytics, "media_refs", limit),
          storedResponses: await deleteOld(main, "kept_responses", limit),
          storedReasoning: await deleteOld(main, "kept_reasoning", limit),
          evalDetails: await eraseResults(erasing, limit, "details"),
        } satisfies ErasedPayloads;
      });
    },
    async eraseUsage(limit) {
      return await whileAlone(async () => {
        const gone = await emptyTable(analytics, "interactions", limit);
        return {
          partitions: gone.partitions,
          interactions: gone.rows,
          evalRuns: await deleteOld(main, "eval_runs", limit),
          evalResults: await deleteOld(main, "eval_results", limit) +
            await eraseResults(erasing, limit, "rows"),
        } satisfies ErasedUsage;
      });
    },
  };
}

/** Another process erases at this moment. */
class Busy extends Error {
  override name = "Busy";
}

async function whileAlone<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof Busy) return undefined;
    throw thrown;
  }
}

/** One step of erasing. A lock that lasted longer than a transaction would need its own session. */
async function alone<T>(database: Database, step: (tx: Queryable) => Promise<T>): Promise<T> {
  return await database.transaction(async (tx) => {
    const [row] = await tx.query("select pg_try_advisory_xact_lock($1) as mine", [retentionLock]);
    if (row?.mine !== true) throw new Busy();
    return await step(tx);
  });
}

type Partitioned = "interactions" | "interaction_payloads";

async function emptyTable(
  database: Database,
  table: Partitioned,
  limit: Date,
): Promise<{ partitions: number; rows: number }> {
  const boundary = partitionOf(table, limit);
  const gone = { partitions: 0, rows: 0 };
  for (const partition of await partitionsOf(database, table)) {
    // Names of one table's partitions stand in the order of their months.
    if (partition > boundary) break;
    if (partition < boundary && await dropPartition(database, table, partition)) gone.partitions++;
    else gone.rows += await deleteRows(database, { table, partition }, limit);
  }
  return gone;
}

/** False when someone reads it for so long that others would have to wait. */
async function dropPartition(
  database: Database,
  table: Partitioned,
  partition: string,
): Promise<boolean> {
  try {
    await alone(database, async (tx) => {
      await tx.query(`set local lock_timeout = ${dropWaitMs}`);
      await tx.query(`drop table if exists ${partition}`);
      if (table === "interactions") await countMonthErased(tx, ...monthOf(partition));
    });
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === lockNotAvailable) return false;
    throw thrown;
  }
}

const lockNotAvailable = "55P03";

/** Walks through a partition once, a few blocks at a time: no index stands in the order of time. */
async function deleteRows(
  database: Database,
  { table, partition }: { table: Partitioned; partition: string },
  limit: Date,
): Promise<number> {
  const [size] = await database.query(
    `select pg_relation_size($1::text::regclass) / current_setting('block_size')::bigint as blocks`,
    [partition],
  );
  const blocks = Number(size?.blocks ?? 0);
  let sum = 0;
  for (let from = 0; from < blocks; from += batchBlocks) {
    sum += await alone(database, async (tx) => {
      const rows = await tx.query(
        `delete from ${partition} where ctid >= '(${from},0)'
           and ctid < '(${from + batchBlocks},0)' and created_at < $1
         returning ${table === "interactions" ? countedColumns.join(", ") : "true"}`,
        [limit],
      );
      if (table === "interactions") await countErased(tx, rows);
      return rows.length;
    });
  }
  return sum;
}

/** `open_month` in migrations gives these names. */
function partitionOf(table: Partitioned, at: Date): string {
  return `${table}_${at.toISOString().slice(0, "2026-11".length).replace("-", "_")}`;
}

/** When the month of a partition begins and ends. */
function monthOf(partition: string): [Date, Date] {
  const [year, month] = partition.slice(-"2026_11".length).split("_").map(Number);
  return [new Date(Date.UTC(year!, month! - 1)), new Date(Date.UTC(year!, month!))];
}

async function partitionsOf(database: Queryable, table: Partitioned): Promise<string[]> {
  const rows = await database.query(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = $1::text::regclass order by 1`,
    [table],
  );
  return rows.map(({ name }) => String(name)).filter((name) => partitionName.test(name));
}

/** What stands in a statement's text has to be a name of ours. */
const partitionName = /^(interactions|interaction_payloads)_\d{4}_\d{2}$/;

/** Deletes the rows of one table that are older than the limit; gives their number. */
async function deleteOld(database: Database, table: string, limit: Date): Promise<number> {
  const statement = `delete from ${table} where ctid = any(array(
    select ctid from ${table} where created_at < $1 limit $2))`;
  return await inBatches(database, statement, [limit, batchRows]);
}

/** Repeats a statement that changes at most `batchRows` rows until it changes fewer. */
async function inBatches(
  database: Database,
  statement: string,
  values: readonly SqlValue[],
): Promise<number> {
  for (let sum = 0;;) {
    const count = await alone(database, (tx) => countChanged(tx, statement, values));
    sum += count;
    if (count < batchRows) return sum;
  }
}

async function countChanged(
  tx: Queryable,
  statement: string,
  values: readonly SqlValue[],
): Promise<number> {
  const [row] = await tx.query(
    `with changed as (${statement} returning 1) select count(*) as count from changed`,
    values,
  );
  return Number(row?.count ?? 0);
}
