import type { Grader } from "../../../contracts/data/eval_request.ts";
import { parseExactly } from "../../base/exact_json.ts";
import { nanosToUsd, parseUsd } from "../../base/money.ts";
import type { EvalCounts, EvalRun, EvalState } from "../eval.ts";
import type { SqlRow } from "../../database/database.ts";

export const runColumns = `eval_run_id, created_at, account_id, api_key_id, name, model, filters,
  graders, state, counts, next_at, waiting_for, error_code, error_message, finished_at`;

export function readRun(row: SqlRow): EvalRun {
  const waits = row.next_at !== null && row.waiting_for !== null && row.finished_at === null;
  return {
    evalRunId: String(row.eval_run_id),
    createdAt: row.created_at as Date,
    accountId: Number(row.account_id),
    apiKeyId: String(row.api_key_id),
    name: row.name as string | null,
    model: String(row.model),
    filtersText: String(row.filters),
    graders: parseExactly(String(row.graders)) as Grader[],
    state: row.state as EvalState,
    counts: readCounts(String(row.counts)),
    waiting: waits ? { for: String(row.waiting_for), until: row.next_at as Date } : null,
    error: row.error_code === null
      ? null
      : { code: String(row.error_code), message: String(row.error_message) },
    finishedAt: row.finished_at as Date | null,
  };
}

/** Writes the counts as JSON with the field names of exports. */
export function writeCounts(counts: EvalCounts): string {
  const { costNanos, unpricedCalls, ...numbers } = counts;
  return JSON.stringify({
    ...numbers,
    cost_usd: nanosToUsd(costNanos),
    unpriced_calls: unpricedCalls,
  });
}

export function readCounts(text: string): EvalCounts {
  const { cost_usd, unpriced_calls, ...numbers } = parseExactly(text) as
    & Omit<EvalCounts, "costNanos" | "unpricedCalls">
    & { cost_usd: string; unpriced_calls: number };
  return { ...numbers, costNanos: parseUsd(cost_usd, 9), unpricedCalls: unpriced_calls };
}
