import type { z } from "zod";
import type { evalAccepted } from "../../../contracts/data/evals.ts";
import { administratorBy, noteBy } from "../../administration/administration.ts";
import { contracts } from "../../../contracts/mod.ts";
import { defined } from "../../base/defined.ts";
import { parseExactly } from "../../base/exact_json.ts";
import { nanosToUsd } from "../../base/money.ts";
import type { EvalResult, EvalRun } from "../../evals/eval.ts";
import {
  readResultCursor,
  readRunCursor,
  resultCursor,
  runCursor,
} from "../../evals/eval_cursor.ts";
import { Fault } from "../../shared/fault.ts";
import {
  type CreateEvalDeps,
  type EvalCaller,
  permitEval,
  startEval,
} from "../../evals/create_eval.ts";
import type { Idempotency } from "../../idempotency/idempotency.ts";
import { replayHeader, type Reply } from "../../relay/reply.ts";
import type { Endpoints } from "../bind.ts";
import { idempotent } from "../idempotent.ts";
import { jsonReply } from "../respond.ts";

/** Mounts evaluations: created here, run in the background (`src/evals/eval_runner.ts`). */
export function evalRoutes(
  app: Endpoints,
  deps: CreateEvalDeps & { idempotency: Idempotency },
): void {
  const by = administratorBy(deps.clock);
  const note = (caller: EvalCaller, action: string, name: string) =>
    noteBy(by(caller), caller.principal.account.id, action, name);
  app.bind(contracts.createEval, ({ caller, body, bodyText }) => {
    const permit = () => void permitEval(deps.routes, caller, body);
    const act = note(caller, "eval.created", body.name ?? body.model);
    const start = async () => accepted(await startEval(deps, caller, body, bodyText, act));
    return idempotent(deps.idempotency, { caller, bodyText, permit }, start);
  });

  app.bind(contracts.listEvals, async ({ caller, query }) => {
    const after = query.after === undefined ? undefined : readRunCursor(query.after);
    const asked = { limit: query.limit + 1, ...defined({ after }) };
    const rows = await deps.evals.list(caller.principal.account.id, asked);
    const page = rows.slice(0, query.limit);
    return { data: page.map(runBody), next: rows.length > page.length ? runCursor(page) : null };
  });

  app.bind(contracts.getEval, async ({ caller, params, query }) => {
    const account = caller.principal.account.id;
    const after = query.after === undefined ? undefined : readResultCursor(query.after);
    const run = await deps.evals.find(account, params.eval_run_id);
    if (!run) throw notFound(params.eval_run_id);
    const asked = { limit: query.limit + 1, ...defined({ after }) };
    const rows = await deps.evals.results(account, run.evalRunId, asked);
    const page = rows.slice(0, query.limit);
    return {
      ...runBody(run),
      filters: parseExactly(run.filtersText),
      graders: run.graders,
      results: page.map(resultBody),
      next: rows.length > page.length ? resultCursor(page) : null,
    };
  });

  app.bind(contracts.cancelEval, async ({ caller, params }) => {
    const account = caller.principal.account.id;
    const run = await deps.evals.find(account, params.eval_run_id);
    const act = run && note(caller, "eval.cancelled", run.name ?? run.model);
    const cancelled = act && await deps.evals.cancel(account, run.evalRunId, act);
    if (!cancelled) throw notFound(params.eval_run_id);
    return runBody(cancelled);
  });
}

function notFound(id: string): Fault {
  return new Fault("eval_not_found", {
    param: "eval_run_id",
    message: `eval_run_id: no evaluation has the id '${id}'.`,
  });
}

function accepted(
  { evalRunId, total, repeated }: { evalRunId: string; total: number; repeated: boolean },
): Reply {
  const answer: z.output<typeof evalAccepted> = {
    status: "ok",
    eval_run_id: evalRunId,
    total,
    message: total === 0
      ? "No stored interaction matches; nothing is to be done."
      : `${total} stored ${total === 1 ? "interaction" : "interactions"} will be asked again.`,
  };
  // The store recognizes a repeat even if a crash lost the stored answer.
  return jsonReply(answer, { status: 202, ...(repeated ? { headers: replayHeader } : {}) });
}

function runBody(run: EvalRun) {
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

function resultBody(result: EvalResult) {
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
