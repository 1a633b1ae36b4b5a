import type { DeskPage, DeskQuery } from "../domain/interaction_desk.ts";
import type { Queryable } from "./database.ts";
import { narrow } from "./interactions_list.ts";
import { where } from "./interactions_read.ts";
import { type RowName, rowsNamed } from "./rows_named.ts";
import type { SqlValue } from "./database.ts";

/** Rows that are sorted at once; where more match, a walk in the order of time meets them soon. */
const maxSorted = 4000;

/**
 * One page of a list that limits of cost or time narrow to few rows: found by these, then sorted.
 * Undefined where there are none or too many, and so the list's own order is the way.
 */
export async function fewInRange(
  database: Queryable,
  query: DeskQuery,
): Promise<DeskPage | undefined> {
  if (query.costNanos === undefined && query.latencyMs === undefined) return undefined;
  const { conditions, values } = where(query);
  const bind = (value: SqlValue) => `$${values.push(value)}`;
  narrow(query, conditions, bind);
  const found = await database.query(
    `select i.transaction_id, i.created_at from interactions i
     where ${conditions.join(" and ")} limit ${maxSorted + 1}`,
    values,
    { planAnew: true },
  );
  if (found.length > maxSorted) return undefined;
  const names = found.map((row): RowName => ({
    transactionId: String(row.transaction_id),
    createdAt: row.created_at as Date,
  })).sort(query.order === "newest" ? (a, b) => byTime(b, a) : byTime);
  const rows = await rowsNamed(database, query.accountId, names.slice(0, query.limit));
  const last = names[query.limit - 1];
  return { rows, ...(names.length > query.limit && last ? { next: last } : {}) };
}

/** Ids are compared as the database does with what we make: digits and small letters. */
export function byTime(one: RowName, other: RowName): number {
  return one.createdAt.getTime() - other.createdAt.getTime() ||
    (one.transactionId < other.transactionId ? -1 : 1);
}
