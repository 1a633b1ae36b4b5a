import type { CallKey } from "../analytics_store.ts";
import type { InteractionSummary } from "../../shared/interaction.ts";
import type { Queryable, SqlValue } from "../../database/database.ts";
import { readSummary, selectedColumns } from "../columns.ts";

/**
 * Fetches rows of an account by key that meet further conditions on `i`, in the order of `keys`, at
 * most `limit`. The inner limit forces a lookup by key; the planner could otherwise scan all rows
 * that meet the conditions.
 */
export async function fetchByKey(
  database: Queryable,
  accountId: number,
  keys: readonly CallKey[],
  further: {
    readonly conditions?: readonly string[];
    readonly values?: readonly SqlValue[];
    readonly limit?: number;
  } = {},
): Promise<InteractionSummary[]> {
  if (keys.length === 0) return [];
  const values = [...further.values ?? []];
  const bind = (value: SqlValue) => `$${values.push(value)}`;
  const ids = bind(keys.map(({ transactionId }) => transactionId));
  const times = bind(keys.map(({ createdAt }) => createdAt.toISOString()));
  const conditions = [`i.account_id + 0 = ${bind(accountId)}::bigint`, ...further.conditions ?? []];
  const rows = await database.query(
    `select i.* from unnest(${ids}::text[], ${times}::timestamptz[])
       with ordinality as named(transaction_id, created_at, place)
     cross join lateral (
       select ${selectedColumns} from interactions i
       where i.transaction_id = named.transaction_id and i.created_at = named.created_at
         and ${conditions.join(" and ")}
       limit 1
     ) as i order by named.place limit ${bind(further.limit ?? keys.length)}`,
    values,
    { forceCustomPlan: true },
  );
  return rows.map(readSummary);
}
