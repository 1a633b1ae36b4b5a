import { nanosToUsd } from "../../base/money.ts";
import type { EvalResult, EvalRun, ResultPlace, RunPlace } from "../../domain/eval.ts";
import { Fault } from "../../domain/fault.ts";

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

/** Where a page of runs ends, as text; callers hand it back as it is. */
export function runPlace(page: readonly EvalRun[]): string {
  const { createdAt, evalRunId } = page.at(-1)!;
  return `${createdAt.toISOString()}_${evalRunId}`;
}

export function readRunPlace(text: string): RunPlace {
  const [, time = "", evalRunId = ""] = /^(\S{24})_([\w-]+)$/.exec(text) ?? [];
  const createdAt = new Date(time);
  // Nothing was made before 1970, and a database knows no year 0.
  if (!(createdAt.getTime() >= 0)) throw noPlace();
  return { createdAt, evalRunId };
}

export function resultPlace(page: readonly EvalResult[]): string {
  const { transactionId, graderIndex } = page.at(-1)!;
  return `${transactionId}_${graderIndex}`;
}

export function readResultPlace(text: string): ResultPlace {
  const [, transactionId, index] = /^([\w-]+)_(\d{1,4})$/.exec(text) ?? [];
  if (transactionId === undefined) throw noPlace();
  return { transactionId, graderIndex: Number(index) };
}

function noPlace(): Fault {
  return new Fault("invalid_value", {
    param: "after",
    message: "after: expected `next` of the page before.",
  });
}
