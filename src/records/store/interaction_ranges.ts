import type { InteractionListPage, InteractionPageQuery } from "../interaction_repository.ts";
import type { Queryable } from "../../database/database.ts";
import { addFilters } from "./interactions_list.ts";
import { interactionConditions } from "../filter_conditions.ts";
import { fetchByKey, type RowName } from "./fetch_by_key.ts";
import type { SqlValue } from "../../database/database.ts";

/** Rows that are sorted at once; where more match, a walk in the order of time meets them soon. */
const maxSorted = 3000;

/**
 * One page of a list that limits of cost or time narrow to few rows: found by these, then sorted.
 * Undefined where there are no limits, or too many rows, and so the list's own order is the way.
 */
export async function trySelectiveRange(
  database: Queryable,
  query: InteractionPageQuery,
): Promise<InteractionListPage | undefined> {
  if (query.costNanos === undefined && query.latencyMs === undefined) return undefined;
  const { conditions, values } = interactionConditions(query);
  const bind = (value: SqlValue) => `$${values.push(value)}`;
  addFilters(query, conditions, bind);
  const way = query.order === "newest" ? "desc" : "asc";
  const found = await database.query(
    `with found as materialized (
       select i.transaction_id, i.created_at from interactions i
       where ${conditions.join(" and ")} limit ${maxSorted + 1}
     )
     select transaction_id, created_at, (select count(*) from found) as total from found
     order by created_at ${way}, transaction_id ${way} limit ${bind(query.limit + 1)}`,
    values,
    { forceCustomPlan: true },
  );
  if (Number(found[0]?.total ?? 0) > maxSorted) return undefined;
  const names = found.map((row): RowName => ({
    transactionId: String(row.transaction_id),
    createdAt: row.created_at as Date,
  }));
  const rows = await fetchByKey(database, query.accountId, names.slice(0, query.limit));
  const last = names[query.limit - 1];
  return { rows, ...(names.length > query.limit && last ? { next: last } : {}) };
}
