import { parseExactly } from "../../base/exact_json.ts";
import type { Grader } from "../../../contracts/data/eval_request.ts";
import type { CallsOfRequests } from "../../records/analytics_store.ts";
import type { Queryable } from "../../database/database.ts";
import { answerRequestId, judgeRequestId } from "../eval.ts";

/**
 * Returns the request ids under which the account's runs called models and judges about these
 * stored calls. A call that failed and was repeated, or whose item has no result yet, can't be
 * found otherwise.
 */
export async function requestsAbout(
  database: Queryable,
  accountId: number,
  transactionIds: readonly string[],
): Promise<CallsOfRequests["requests"]> {
  // Clocks differ: the process that makes a call may be behind the one that created the run.
  const rows = await database.query(
    `select r.eval_run_id, e.position, r.graders, r.created_at - interval '1 hour' as since
     from eval_items e join eval_runs r on r.eval_run_id = e.eval_run_id
     where e.transaction_id = any($2::text[]) and e.attempts > 0 and r.account_id = $1`,
    [accountId, transactionIds],
  );
  return rows.flatMap((row) => {
    const item = { evalRunId: String(row.eval_run_id), position: Number(row.position) };
    const since = row.since as Date;
    const graders = parseExactly(String(row.graders)) as Grader[];
    const judges = [...graders.keys()].filter((index) => graders[index]!.type === "judge");
    const ids = [answerRequestId(item), ...judges.map((index) => judgeRequestId(item, index))];
    return ids.map((requestId) => ({ requestId, since }));
  });
}

/** Returns the ids of the account's calls that runs have repeated, or may have. */
export async function evaluatedCalls(database: Queryable, accountId: number): Promise<string[]> {
  const rows = await database.query(
    `select transaction_id from eval_results where account_id = $1
     union
     select e.transaction_id from eval_items e join eval_runs r on r.eval_run_id = e.eval_run_id
       where r.account_id = $1 and e.attempts > 0`,
    [accountId],
  );
  return rows.map((row) => String(row.transaction_id));
}
