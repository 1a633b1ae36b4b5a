import type { Grader } from "../../../contracts/data/eval_request.ts";
import type { EvalStore } from "../../evals/eval.ts";
import { createFairQueue } from "../../base/fair_queue.ts";
import { Fault } from "../../shared/fault.ts";
import { createEvalRunner } from "../../evals/eval_runner.ts";
import type { EvalRunDeps } from "../../evals/eval_run.ts";
import { every } from "../../shared/every.ts";
import { createGradeThread } from "../../evals/grade_thread.ts";
import type { Database } from "../../database/database.ts";
import type { FairReads } from "../../database/fair_reads.ts";
import { fairEvals } from "./fair_stores.ts";
import { createEvalWork } from "../../evals/store/eval_work.ts";
import type { Log } from "../../base/log.ts";

/** Evaluations, wired: where runs live, and who works on them. */
export interface Evals {
  evals: EvalStore;
  /**
   * Why a grader can't be used, undefined when it can. Throws `rate_limit_exceeded` when too many of
   * the account wait to be read.
   */
  graderProblem: (accountId: number, grader: Grader) => Promise<string | undefined>;
  /** A run was asked for. */
  wakeEvals: () => void;
  /** Takes runs up; once what an earlier run of the process left is taken in. */
  startEvals: () => void;
  /** Gives the runs under way back. */
  closeEvals: () => Promise<void>;
}

/** How often runs are looked for that other processes took in or left behind. */
const lookMs = 1000;
/** Graders of one account that wait to be read; with the default limit that is half a minute. */
const gradersWaiting = 16;

/** `analytics` holds the interactions. */
export function wireEvals(
  database: Database,
  deps: Omit<EvalRunDeps, "work" | "graders"> & {
    newId: () => string;
    log: Log;
    analytics: Database;
    reads: FairReads;
  },
): Evals {
  const { analytics } = deps;
  const graders = createGradeThread();
  // One of an account at a time, so that its runs wait for one new grader at most.
  const intake = createFairQueue({
    atOnce: 4,
    atOncePerKey: 1,
    waitingPerKey: gradersWaiting,
    refuse: manyGraders,
  });
  const work = createEvalWork(database, { workerId: deps.newId(), analytics });
  const runner = createEvalRunner({ ...deps, work, graders });
  let stop = () => {};
  return {
    evals: fairEvals(database, deps.reads),
    async graderProblem(accountId, grader) {
      if (grader.type !== "json_schema" && grader.type !== "regex") return undefined;
      const key = String(accountId);
      const graded = await intake.run(key, () => graders.grade(grader, null, key));
      if (graded.kind === "judged") return undefined;
      return graded.kind === "timeout"
        ? "it takes too long to read"
        : `can't be used: ${graded.reason}`;
    },
    wakeEvals: () => runner.wake(),
    startEvals() {
      runner.wake();
      stop = every(lookMs, () => runner.tick(), deps.log, "evaluations");
    },
    closeEvals: async () => {
      stop();
      await runner.close();
    },
  };
}

function manyGraders(): Fault {
  return new Fault("rate_limit_exceeded", {
    message:
      `This account has ${gradersWaiting} evaluations whose graders wait to be read; try again when some are taken in.`,
    retryAfterSeconds: 10,
  });
}
