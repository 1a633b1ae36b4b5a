import type { Grader } from "../../contracts/data/eval_request.ts";
import { createFairQueue } from "../base/fair_queue.ts";
import type { Database } from "../database/database.ts";
import type { AnalyticsReads, AnalyticsStore } from "../records/analytics_store.ts";
import { Fault, overLimit } from "../shared/fault.ts";
import type { EvalRunDeps } from "./eval_run.ts";
import { EvalRunner } from "./eval_runner.ts";
import { GradeThread } from "./grade_thread.ts";
import { createEvals } from "./store/evals.ts";
import { createEvalWork } from "./store/eval_work.ts";
import { workerIdOf } from "../work_queue/store/claims.ts";

/** Graders of one account that wait to be read; with the default limit that is half a minute. */
const gradersWaiting = 16;

export function createEvalServices(
  deps: Omit<EvalRunDeps, "work" | "graders"> & {
    database: Database;
    analyticsStore: Pick<AnalyticsStore, "findCall" | "within">;
    /** Finds a run's calls. Accounts take turns, because it may read all calls of an account. */
    fairAnalytics: Pick<AnalyticsReads, "sample">;
    /** Identifies this process in claims; stays the same over restarts. */
    processId: string;
    newId: () => string;
  },
) {
  const { database, analyticsStore, fairAnalytics, processId, newId, ...runDeps } = deps;
  const graders = new GradeThread();
  // One check per account at a time, so that its running evaluations wait for at most one of them.
  const intake = createFairQueue({
    atOnce: 4,
    atOncePerKey: 1,
    waitingPerKey: gradersWaiting,
    refuse: manyGraders,
  });
  const workerId = workerIdOf({ processId, run: newId() });
  const work = createEvalWork(database, { workerId, analytics: analyticsStore });
  return {
    evals: createEvals(database, fairAnalytics),
    /**
     * Why a grader can't be used, undefined when it can. Throws `rate_limit_exceeded` when too many of
     * the account wait to be read.
     */
    async graderProblem(accountId: number, grader: Grader): Promise<string | undefined> {
      if (grader.type !== "json_schema" && grader.type !== "regex") return undefined;
      const key = String(accountId);
      const graded = await intake.run(key, () => graders.grade(grader, null, key));
      if (graded.kind === "judged") return undefined;
      return graded.kind === "timeout"
        ? "it takes too long to read"
        : `can't be used: ${graded.reason}`;
    },
    evalRunner: new EvalRunner({ ...runDeps, work, graders }),
  };
}

/** Where evaluations live, and who works on them. */
export type EvalServices = ReturnType<typeof createEvalServices>;

function manyGraders(): Fault {
  return overLimit(
    `This account has ${gradersWaiting} evaluations waiting for a check of their graders; retry later.`,
    10,
  );
}
