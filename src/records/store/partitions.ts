import { greatest, least } from "../../base/lists.ts";
import type { StoredMonth } from "../../erasure/retention.ts";
import type { ErasedPartitions } from "../analytics_store.ts";
import type { Database, Queryable } from "../../database/database.ts";
import { codeOf, isLockTimeout } from "../../database/postgres/faults.ts";
import { eraseAlone, eraseUnlocked } from "../../database/retention_lock.ts";
import { startOfMonth } from "../../shared/time_span.ts";
import { countedColumns, countErased, countMonthErased } from "../../usage/store/count_usage.ts";

/**
 * The months whose partitions are known to exist. For rows of other months, however late, the
 * partition is created before they are written.
 */
export class Partitions {
  readonly #database: Queryable;
  readonly #existing = new Set<string>();

  constructor(database: Queryable) {
    this.#database = database;
  }

  /**
   * Creates the partitions of these rows and runs `write`. Repeats both if retention dropped a
   * partition in the meantime; since retention drops month by month, that can happen several times.
   * `write` must be all or nothing.
   */
  async writing<T>(rows: readonly { createdAt: Date }[], write: () => Promise<T>): Promise<T> {
    for (let attempt = 1;; attempt++) {
      await this.#open(rows);
      try {
        return await write();
      } catch (thrown) {
        if (codeOf(thrown) !== noPartition || attempt === maxAttempts) throw thrown;
        this.#existing.clear();
      }
    }
  }

  async #open(rows: readonly { createdAt: Date }[]): Promise<void> {
    for (const { createdAt } of rows) {
      const month = createdAt.toISOString().slice(0, -"-21T00:00:00.000Z".length);
      if (this.#existing.has(month)) continue;
      await openMonth(this.#database, createdAt);
      this.#existing.add(month);
    }
  }
}

/**
 * Returns the earliest and the latest time of these calls, by which the planner skips partitions.
 */
export function timesOf(calls: readonly { createdAt: Date }[]): [Date, Date] {
  const times = calls.map(({ createdAt }) => createdAt.getTime());
  return [new Date(least(times)), new Date(greatest(times))];
}

/**
 * More than the number of months that one pass of retention drops while rows are written to them.
 */
const maxAttempts = 20;

/** Check violation: a row without a partition (PostgreSQL's manual, "Error Codes"). */
const noPartition = "23514";

async function openMonth(database: Queryable, month: Date): Promise<void> {
  await database.query("select open_month($1)", [month]);
}

export async function ensurePartitions(database: Queryable, now: Date): Promise<void> {
  for (const ahead of [0, 1, 2]) {
    await openMonth(database, startOfMonth(now, ahead));
  }
}

/** Creates the partitions that another database has. */
export async function copyPartitions(from: Queryable, to: Queryable): Promise<void> {
  for (const { month } of await partitionsInUse(from)) await openMonth(to, month);
}

/** Reads the disk space of each month from the catalogue (`open_month` names the partitions). */
export async function partitionsInUse(database: Queryable): Promise<StoredMonth[]> {
  const rows = await database.query(
    `select p.relname as parent, c.relname as name, pg_total_relation_size(c.oid) as bytes
     from pg_inherits i join pg_class c on c.oid = i.inhrelid
       join pg_class p on p.oid = i.inhparent
     where i.inhparent in ('interactions'::regclass, 'interaction_payloads'::regclass)`,
  );
  const months = new Map<number, StoredMonth>();
  for (const { parent, name, bytes } of rows) {
    const month = monthOf(String(name));
    if (!month) continue;
    const sizes = months.getOrInsert(month.getTime(), { month, usageBytes: 0, payloadBytes: 0 });
    sizes[parent === "interactions" ? "usageBytes" : "payloadBytes"] = Number(bytes);
  }
  return [...months.values()].sort((a, b) => b.month.getTime() - a.month.getTime());
}

function monthOf(partition: string): Date | undefined {
  const [, year, month] = /_(\d{4})_(\d{2})$/.exec(partition) ?? [];
  return year === undefined ? undefined : new Date(Date.UTC(Number(year), Number(month) - 1));
}

type Partitioned = "interactions" | "interaction_payloads";

/**
 * Blocks of 8 KiB whose rows are deleted in one transaction: one or two thousand rows. Long payload
 * texts are stored outside their rows, so that a block holds many rows.
 */
const batchBlocks: Readonly<Record<Partitioned, number>> = {
  interactions: 128,
  interaction_payloads: 8,
};
/**
 * How long a drop waits for those who use the month; queries of it queue behind it. Somewhat longer
 * than `deadlock_timeout`, at which PostgreSQL cancels an autovacuum that is in the way.
 */
const waitForAutovacuum = `select set_config('lock_timeout', (setting::integer + 500)::text, true)
  from pg_settings where name = 'deadlock_timeout'`;

/**
 * How long it waits once a month's calls are counted, when no autovacuum can begin. Less than
 * `deadlock_timeout`: where a writer waits in turn for what was counted, the drop is what gives way.
 */
const dropWaitMs = 500;

/**
 * Erases rows older than `limit`: drops partitions that are older as a whole, and deletes other
 * rows in batches. A partition with a long-running reader is emptied, and dropped by a later run.
 * Runs under `unlessBusy`.
 */
export async function eraseBefore(
  database: Database,
  table: Partitioned,
  limit: Date,
): Promise<ErasedPartitions> {
  const boundary = partitionOf(table, limit);
  const erased: ErasedPartitions = { partitions: 0, rows: 0, relations: [] };
  for (const partition of await partitionsOf(database, table)) {
    // Partition names sort by month.
    if (partition > boundary) break;
    if (partition < boundary && await dropPartition(database, table, partition)) {
      erased.partitions++;
      continue;
    }
    const rows = await deleteRows(database, { table, partition }, limit).catch(ifDropped);
    erased.rows += rows;
    if (rows > 0) erased.relations.push(partition);
  }
  return erased;
}

/** The partitions that `eraseBefore` looks at. */
export async function partitionsUntil(database: Queryable, limit: Date): Promise<string[]> {
  const tables = ["interactions", "interaction_payloads"] as const;
  const all = await Promise.all(tables.map(async (table) => {
    const boundary = partitionOf(table, limit);
    return (await partitionsOf(database, table)).filter((partition) => partition <= boundary);
  }));
  return all.flat();
}

/** Another process may drop a partition between two steps: nothing is left to delete in it. */
function ifDropped(thrown: unknown): number {
  if (codeOf(thrown) === undefinedTable) return 0;
  throw thrown;
}

const undefinedTable = "42P01";

/**
 * Drops a partition; false if a long-running reader would make others wait. A month's calls are
 * counted while nothing is written to it, and before the drop locks all months against readers.
 */
async function dropPartition(
  database: Database,
  table: Partitioned,
  partition: string,
): Promise<boolean> {
  try {
    await eraseAlone(database, async (tx) => {
      await tx.query(waitForAutovacuum);
      if (table === "interactions") {
        await tx.query(`lock table ${partition} in share mode`);
        await tx.query(`set local lock_timeout = ${dropWaitMs}`);
        await countMonthErased(tx, ...spanOf(partition));
      }
      await tx.query(`drop table if exists ${partition}`);
    });
    return true;
  } catch (thrown) {
    // The latter: another process has dropped and counted it.
    if (isLockTimeout(thrown) || codeOf(thrown) === undefinedTable) return false;
    throw thrown;
  }
}

/** Scans a partition once, a few blocks at a time: there is no index on time alone. */
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
  const step = batchBlocks[table];
  let sum = 0;
  for (let from = 0; from < blocks; from += step) {
    const count = await eraseUnlocked(database, async (tx) => {
      // Rows that are being repriced or refunded, in another order, are left to the next run.
      const rows = await tx.query(
        `delete from ${partition} where ctid = any(array(
           select ctid from ${partition} where ctid >= '(${from},0)'
             and ctid < '(${from + step},0)' and created_at < $1 for update skip locked))
         returning ${table === "interactions" ? countedColumns.join(", ") : "true"}`,
        [limit],
      );
      if (table === "interactions") await countErased(tx, rows);
      return rows.length;
    });
    if (count === undefined) return sum;
    sum += count;
  }
  return sum;
}

/** Returns the name that `open_month` in the migrations gives the partition. */
function partitionOf(table: Partitioned, at: Date): string {
  return `${table}_${at.toISOString().slice(0, "2026-11".length).replace("-", "_")}`;
}

function spanOf(partition: string): [Date, Date] {
  const month = monthOf(partition)!;
  return [month, startOfMonth(month, 1)];
}

async function partitionsOf(database: Queryable, table: Partitioned): Promise<string[]> {
  const rows = await database.query(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = $1::text::regclass order by 1`,
    [table],
  );
  return rows.map(({ name }) => String(name)).filter((name) => partitionName.test(name));
}

/** Only such names may be put into the text of a statement. */
const partitionName = /^(interactions|interaction_payloads)_\d{4}_\d{2}$/;
