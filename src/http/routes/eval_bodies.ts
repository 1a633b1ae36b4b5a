import { nanosToUsd } from "../../base/money.ts";
import type { EvalResult, EvalRun } from "../../evals/eval.ts";

/** A run as lists show it. */
export function runBody(run: EvalRun) {
  const { costNanos, unpricedCalls, ...counts } = run.counts;
  return {
    eval_run_id: run.evalRunId,
    created_at: run.createdAt.toISOString(),
    finished_at: run.finishedAt?.toISOString() ?? null,
    name: run.name,
    model: run.model,
    state: run.state,
    waiting: run.waiting && { for: run.waiting.for, until: run.waiting.until.toISOString() },
    error: run.error,
    counts: { ...counts, cost_usd: nanosToUsd(costNanos), unpriced_calls: unpricedCalls },
  };
}

export function resultBody(result: EvalResult) {
  return {
    transaction_id: result.transactionId,
    answer_transaction_id: result.answerTransactionId,
    judge_transaction_id: result.judgeTransactionId,
    session_id: result.sessionId,
    user_id: result.userId,
    created_at: result.createdAt.toISOString(),
    grader_index: result.graderIndex,
    grader: result.grader,
    passed: result.passed,
    score: result.score,
    detail: result.detail,
  };
}
