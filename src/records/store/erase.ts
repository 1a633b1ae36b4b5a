import type { ErasureScope, Tombstone } from "../../erasure/tombstone.ts";
import { Bound, condition } from "../../erasure/store/erasure_sql.ts";
import { hasTombstone, insertTombstone, noteErased } from "../../erasure/store/tombstones.ts";
import { countedColumns, countErased } from "../../usage/store/count_usage.ts";
import type { CallKey, ErasedCalls } from "../analytics_store.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { lockForErasure } from "../../database/erasure_lock.ts";
import { readCallKey } from "./calls.ts";
import { timesOf } from "./partitions.ts";

/** Stores a tombstone. Once this has returned, rows that it covers are no longer written. */
export async function addTombstone(database: Database, tombstone: Tombstone): Promise<void> {
  // Otherwise each repetition would keep writers waiting.
  if (await hasTombstone(database, tombstone.deletionId)) return;
  await database.transaction(async (tx) => {
    await lockForErasure(tx);
    await insertTombstone(tx, tombstone);
  });
}

/** Whether the tombstone is missing although there are calls of its account that are as old. */
export async function hasLostTombstone(
  database: Queryable,
  { deletionId, accountId, before }: Tombstone,
): Promise<boolean> {
  if (await hasTombstone(database, deletionId)) return false;
  const calls = await database.query(
    "select from interactions where account_id = $1 and created_at <= $2 limit 1",
    [accountId, before],
  );
  return calls.length > 0;
}

export async function matchedCalls(
  database: Queryable,
  scope: ErasureScope,
  limit: number,
): Promise<CallKey[]> {
  const bound = new Bound();
  const where = condition(scope, "interactions", "i", bound);
  if (where === "false") return [];
  const rows = await database.query(
    `select i.transaction_id, i.created_at from interactions i where ${where}
     order by i.created_at limit ${limit}`,
    bound.values,
  );
  return rows.map(readCallKey);
}

export async function matchedAmong(
  database: Queryable,
  scope: ErasureScope,
  transactionIds: readonly string[],
): Promise<string[]> {
  if (transactionIds.length === 0) return [];
  const bound = new Bound();
  const where = condition(scope, "interactions", "i", bound);
  const rows = await database.query(
    `select i.transaction_id from interactions i
     where i.transaction_id = any(${bound.bind(transactionIds)}::text[]) and ${where}`,
    bound.values,
  );
  return rows.map((row) => String(row.transaction_id));
}

export async function countMatched(
  database: Queryable,
  scope: ErasureScope,
  transactionIds: readonly string[],
): Promise<number> {
  return await countInScope(database, scope) +
    await countOutside(database, scope, transactionIds);
}

async function countInScope(database: Queryable, scope: ErasureScope): Promise<number> {
  const bound = new Bound();
  const where = condition(scope, "interactions", "i", bound);
  const [row] = await database.query(
    `select count(*) as count from interactions i where (${where})`,
    bound.values,
  );
  return Number(row!.count);
}

async function countOutside(
  database: Queryable,
  scope: ErasureScope,
  transactionIds: readonly string[],
): Promise<number> {
  if (transactionIds.length === 0) return 0;
  const bound = new Bound();
  const where = condition(scope, "interactions", "i", bound);
  const [row] = await database.query(
    `select count(*) as count from interactions i
     where i.account_id = ${bound.bind(scope.tombstone.accountId)}
       and i.transaction_id = any(${bound.bind(transactionIds)}::text[])
       and (${where}) is not true`,
    bound.values,
  );
  return Number(row!.count);
}

/** Erases calls in a transaction, and notes them, so that later writes of them are rejected. */
export async function eraseAndRefuse(
  database: Database,
  calls: readonly CallKey[],
): Promise<ErasedCalls> {
  return await database.transaction(async (tx) => {
    await lockForErasure(tx);
    await noteErased(tx, calls.map(({ transactionId }) => transactionId));
    return await eraseCalls(tx, calls);
  });
}

/**
 * Erases payloads and rows. A trigger removes media references with their payloads, and media with
 * the last reference.
 */
export async function eraseCalls(tx: Queryable, calls: readonly CallKey[]): Promise<ErasedCalls> {
  if (calls.length === 0) return { interactions: 0, relations: [] };
  const [media] = await tx.query(
    "select exists (select from media_refs where transaction_id = any($1::text[])) as named",
    [calls.map(({ transactionId }) => transactionId)],
  );
  const payloads = await eraseFrom(tx, "interaction_payloads", calls);
  const rows = await eraseFrom(tx, "interactions", calls, countedColumns);
  await countErased(tx, rows);
  const relations = new Set([...payloads, ...rows].map((row) => String(row.relation)));
  if (media!.named === true) relations.add("media");
  return {
    interactions: rows.length,
    // The sums held the names of the calls' apps, users, flows and cohorts.
    relations: [...relations, "usage_sums", "label_steps", "label_sums"],
  };
}

async function eraseFrom(
  tx: Queryable,
  table: "interaction_payloads" | "interactions",
  calls: readonly CallKey[],
  returned: readonly string[] = [],
): Promise<SqlRow[]> {
  return await tx.query(
    `delete from ${table} where transaction_id = any($1::text[]) and created_at between $2 and $3
     returning ${["tableoid::regclass::text as relation", ...returned].join(", ")}`,
    [calls.map(({ transactionId }) => transactionId), ...timesOf(calls)],
  );
}
