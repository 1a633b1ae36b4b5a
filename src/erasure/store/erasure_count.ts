import type { DataTable, DeletionCounts } from "../deletion.ts";
import type { Queryable } from "../../database/database.ts";
import type { ErasureScope } from "../tombstone.ts";
import type { AnalyticsReads } from "../../records/analytics_store.ts";
import { evaluatedCalls, requestsAbout } from "../../evals/store/eval_requests.ts";
import { evalEndpoint } from "../../evals/store/evals.ts";
import { Bound, condition } from "./erasure_sql.ts";

export async function countScope(
  { main, analytics }: { main: Queryable; analytics: AnalyticsReads },
  scope: ErasureScope,
): Promise<DeletionCounts> {
  const { accountId } = scope.tombstone;
  const ids = await analytics.matchedAmong(scope, await evaluatedCalls(main, accountId));
  const made = await madeOf({ main, analytics }, accountId, ids);
  return {
    interactions: await analytics.countMatched(scope, made),
    eval_runs: await count(main, scope, "eval_runs"),
    eval_results: await count(main, scope, "eval_results", [...ids, ...made]),
  };
}

/**
 * Returns the calls that evaluations made from these calls, directly or by evaluating such calls
 * again; these calls themselves are left out. It looks at runs' items and at results, because an
 * item has no result before its end, and results outlive their run.
 */
export async function madeOf(
  { main, analytics }: { main: Queryable; analytics: Pick<AnalyticsReads, "idsOfRequests"> },
  accountId: number,
  transactionIds: readonly string[],
): Promise<string[]> {
  const made = new Set<string>();
  for (let sources = transactionIds; sources.length > 0;) {
    const results = await main.query(
      `select made.transaction_id from eval_results r
         cross join lateral (values (r.answer_transaction_id), (r.judge_transaction_id))
           as made (transaction_id)
       where r.account_id = $1 and r.transaction_id = any($2::text[])
         and made.transaction_id is not null`,
      [accountId, sources],
    );
    const requests = await requestsAbout(main, accountId, sources);
    const found = new Set([
      ...results.map((row) => String(row.transaction_id)),
      ...await analytics.idsOfRequests({ accountId, endpoint: evalEndpoint, requests }),
    ]);
    sources = [...found].filter((id) => !made.has(id));
    for (const id of sources) made.add(id);
  }
  for (const id of transactionIds) made.delete(id);
  return [...made];
}

/** Counts the rows of a table that are in the scope themselves or belong to one of the calls. */
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
