import type { SettledCall } from "../../shared/interaction.ts";
import type { Tombstone } from "../tombstone.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import { deletedAtOnce, deleteInChunks } from "../../database/delete_in_chunks.ts";
import { sharedErasureLock } from "../../database/erasure_lock.ts";
import { tombstoneCovers } from "./erasure_sql.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

/** SQL: a tombstone covers the call of row `r`, which has the columns that `notErased` names. */
export const coveredByTombstone = `exists (select from tombstones t where ${tombstoneCovers})`;

/** How long the ids of erased calls are stored. */
const erasedDays = 7;

export interface Writable {
  rows: SettledCall[];
  /** Calls that are not written, since they were erased while they were under way. */
  erased: string[];
  /** Those of `erased` that weren't stored as erased before. */
  newlyErased: SettledCall[];
}

/**
 * Filters out rows matched by a tombstone, and stored answers derived from erased text. Called in
 * the transaction that writes them, before any write: no erasure can run until it ends. One round
 * trip as long as nothing was erased lately. `erasedElsewhere`: calls that another database has
 * found to be erased.
 */
export async function withoutErased(
  tx: Queryable,
  rows: readonly SettledCall[],
  erasedElsewhere: readonly string[] = [],
): Promise<Writable> {
  const oldest = rows.reduce((least, row) => row.createdAt < least ? row.createdAt : least, never);
  // Without parameters, several statements can be sent at once. The second one's snapshot is taken
  // when the lock is held; in a single statement it would be older.
  const [feed] = await tx.query(`${sharedErasureLock};
     select exists (select from tombstones where before >= '${oldest.toISOString()}') as meant,
       exists (select from erased_calls) as gone,
       clock_timestamp() - interval '${erasedDays} days' as forgotten`);
  const erased = new Set(erasedElsewhere);
  if (feed!.meant === true) await findCovered(tx, rows, erased);
  if (feed!.gone === true || erased.size > 0) await findGone(tx, rows, erased);
  const isLost = (row: SettledCall) =>
    erased.has(row.transactionId) || row.sourceCallIds?.some((id) => erased.has(id)) === true;
  const lost = rows.filter(isLost).map((row) => row.transactionId);
  const noted = new Set(lost.length === 0 ? [] : await noteErased(tx, lost));
  const quotesErased = (row: SettledCall) =>
    sourcesOf(row).some((id) => erased.has(id)) ||
    // The sources of a record this old can't be checked any more.
    sourcesOf(row).length > 0 && row.createdAt < (feed!.forgotten as Date);
  return {
    rows: rows.filter((row) => !isLost(row)).map((row) =>
      quotesErased(row) ? withoutResponse(row) : row
    ),
    erased: lost,
    newlyErased: rows.filter((row) => noted.has(row.transactionId)),
  };
}

const never = new Date(8.64e15);

async function findCovered(
  tx: Queryable,
  rows: readonly SettledCall[],
  erased: Set<string>,
): Promise<void> {
  const found = await tx.query(
    `select r.transaction_id from json_to_recordset($1::text::json) as r(transaction_id text,
       account_id bigint, created_at timestamptz, session_id text, user_id text)
     where ${coveredByTombstone}`,
    [JSON.stringify(rows.map((row) => ({
      transaction_id: row.transactionId,
      account_id: row.accountId,
      created_at: row.createdAt.toISOString(),
      session_id: sanitizeText(row.sessionId),
      user_id: sanitizeText(row.userId),
    })))],
  );
  for (const row of found) erased.add(String(row.transaction_id));
}

/** Adds calls that were erased together with another one, and erased sources of stored answers. */
async function findGone(
  tx: Queryable,
  rows: readonly SettledCall[],
  erased: Set<string>,
): Promise<void> {
  const ids = rows.flatMap((row) => [
    ...[row.transactionId, ...sourcesOf(row)],
    ...row.sourceCallIds ?? [],
  ]);
  for (const id of await erasedAmong(tx, ids)) erased.add(id);
}

/** Returns those of these calls that were erased in the last seven days. */
export async function erasedAmong(tx: Queryable, transactionIds: readonly string[]) {
  const found = await tx.query(
    "select transaction_id from erased_calls where transaction_id = any($1::text[])",
    [transactionIds],
  );
  return found.map((row) => String(row.transaction_id));
}

/** SQL: the call of row `r` is not among the erased calls of any process, of any version. */
export const notGone =
  "not exists (select from erased_calls gone where gone.transaction_id = r.transaction_id)";

/**
 * SQL for a statement that stores data of one call `r` (`transaction_id`, `account_id`,
 * `created_at`, `session_id`, `user_id`): the call was not erased. The transaction must have called
 * `lockForWriting` before, so that no erasure runs until it ends.
 */
export const notErased = `not ${coveredByTombstone} and ${notGone}`;

/**
 * Stores the ids of erased calls, for calls that continue them and for other processes. Returns the
 * ids that weren't stored before.
 */
export async function noteErased(
  tx: Queryable,
  transactionIds: readonly string[],
): Promise<string[]> {
  const rows = await tx.query(
    `insert into erased_calls (transaction_id) select unnest($1::text[]) on conflict do nothing
     returning transaction_id`,
    [transactionIds],
  );
  return rows.map((row) => String(row.transaction_id));
}

/** Notes calls' refunds, as part of their transaction; returns how many weren't noted before. */
export async function noteRefunded(
  tx: Queryable,
  transactionIds: readonly string[],
): Promise<number> {
  const rows = await tx.query(
    `insert into refunded_calls (transaction_id) select id from unnest($1::text[]) as r (id)
     order by id on conflict do nothing returning transaction_id`,
    [transactionIds],
  );
  return rows.length;
}

/** Forgets calls that were erased long ago: no process can still be about to write or refund them. */
export async function sweepErased(database: Queryable): Promise<void> {
  for (const [table, at] of [["refunded_calls", "refunded_at"], ["erased_calls", "erased_at"]]) {
    // In the order of an index. By `clock_timestamp()` all rows would be read.
    await deleteInChunks(
      database,
      `delete from ${table} where transaction_id = any(array(
         select transaction_id from ${table} where ${at} < now() - $1::integer * interval '1 day'
         order by ${at} limit ${deletedAtOnce})) returning 1 as one`,
      [erasedDays],
    );
  }
}

function withoutResponse(row: SettledCall): SettledCall {
  if (!row.retained) return row;
  const { reasoning, background } = row.retained;
  // A background call must end nevertheless.
  const ended = background && { ...background, state: "failed" as const, answerText: null };
  return { ...row, retained: { reasoning, ...(ended ? { background: ended } : {}) } };
}

function sourcesOf(row: SettledCall): readonly string[] {
  return row.retained?.response?.sources ?? [];
}

/** Stores a tombstone; returns false if it exists already. */
export async function insertTombstone(tx: Queryable, stone: Tombstone): Promise<boolean> {
  const rows = await tx.query(
    `insert into tombstones (deletion_id, account_id, tables, before, start_at, end_at,
       transaction_ids, salt, session_hashes, user_hashes, selectors_hash)
     values ($1, $2, $3::text[], $4, $5, $6, $7::text[], $8, $9::text[], $10::text[], $11)
     on conflict do nothing returning deletion_id`,
    [
      stone.deletionId,
      stone.accountId,
      stone.tables,
      stone.before,
      stone.start,
      stone.end,
      stone.transactionIds,
      stone.salt,
      stone.sessionHashes,
      stone.userHashes,
      stone.selectorsHash,
    ],
  );
  return rows.length > 0;
}

export function readTombstone(row: SqlRow): Tombstone {
  return {
    deletionId: String(row.deletion_id),
    accountId: Number(row.account_id),
    tables: row.tables as Tombstone["tables"],
    before: row.before as Date,
    start: row.start_at as Date | null,
    end: row.end_at as Date | null,
    transactionIds: row.transaction_ids as string[] | null,
    salt: String(row.salt),
    sessionHashes: row.session_hashes as string[] | null,
    userHashes: row.user_hashes as string[] | null,
    selectorsHash: String(row.selectors_hash),
  };
}

export async function hasTombstone(database: Queryable, deletionId: string): Promise<boolean> {
  const sql = "select from tombstones where deletion_id = $1";
  return (await database.query(sql, [deletionId])).length > 0;
}
