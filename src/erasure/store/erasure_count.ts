import type { DataTable, DeletionCounts } from "../deletion.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import type { ErasureScope } from "../tombstone.ts";
import type { AnalyticsReads } from "../../records/analytics_store.ts";
import { Bound, condition } from "./erasure_sql.ts";

/** Columns of `eval_results` that name calls made of the stored one: they repeat its words. */
const madeOfIt = ["answer_transaction_id", "judge_transaction_id"];

export async function countScope(
  { main, analytics }: { main: Queryable; analytics: AnalyticsReads },
  scope: ErasureScope,
): Promise<DeletionCounts> {
  const { accountId } = scope.tombstone;
  const evaluated = await main.query(
    "select distinct transaction_id from eval_results where account_id = $1",
    [accountId],
  );
  const ids = await analytics.matchedAmong(scope, evaluated.map(idOf));
  const made = await madeOf(main, accountId, ids);
  return {
    interactions: await analytics.countMatched(scope, made),
    eval_runs: await count(main, scope, "eval_runs"),
    eval_results: await count(main, scope, "eval_results", [...ids, ...made]),
  };
}

/** The calls that evaluations made from these, and from those again, without these. */
export async function madeOf(
  main: Queryable,
  accountId: number,
  transactionIds: readonly string[],
): Promise<string[]> {
  if (transactionIds.length === 0) return [];
  const columns = madeOfIt.map((column) => `(r.${column})`).join(", ");
  const rows = await main.query(
    `with recursive calls as (
       select unnest($2::text[]) as transaction_id
       union
       select made.transaction_id from calls c
         join eval_results r on r.transaction_id = c.transaction_id and r.account_id = $1
         cross join lateral (values ${columns}) as made (transaction_id)
       where made.transaction_id is not null
     ) select transaction_id from calls`,
    [accountId, transactionIds],
  );
  const transactions = new Set(transactionIds);
  return rows.map(idOf).filter((id) => !transactions.has(id));
}

/** Rows of a table that are in the scope themselves, or belong to one of the calls. */
async function count(
  database: Queryable,
  scope: ErasureScope,
  table: Exclude<DataTable, "interactions">,
  transactionIds: readonly string[] = [],
): Promise<number> {
  const bound = new Bound();
  const where = condition(scope, table, "t", bound);
  const belongs = transactionIds.length === 0
    ? ""
    : ` or t.account_id = ${bound.bind(scope.tombstone.accountId)} and t.transaction_id = any(${
      bound.bind(transactionIds)
    }::text[])`;
  const [row] = await database.query(
    `select count(*) as count from ${table} t where (${where})${belongs}`,
    bound.values,
  );
  return Number(row!.count);
}

function idOf(row: SqlRow): string {
  return String(row.transaction_id);
}
