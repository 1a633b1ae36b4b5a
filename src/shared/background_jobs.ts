import { type Clock, systemClock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { reasonOf } from "./fault.ts";

/** Periodic work that no caller waits for. */
export interface BackgroundJob {
  /** In snake case: a label of metrics and a field of the log. */
  readonly name: string;
  /** From the end of one run to the start of the next: a job never runs twice at once. */
  readonly everyMs: number;
  /** From the start of the service to the first run; up to a second less than `everyMs` when absent. */
  readonly firstMs?: number;
  readonly run: () => Promise<void>;
}

export interface JobRunner {
  start(): void;
  /** Starts no more runs; those in progress are not awaited. */
  stop(): void;
}

export interface JobRunnerDeps {
  log: Pick<Log, "info" | "warn">;
  /** Called after each run. */
  onRun?: (job: string, outcome: "done" | "failed") => void;
  clock?: Pick<Clock, "monotonicMs">;
}

/**
 * How long a job must not have failed until its failure counts as over. On a database that takes no
 * writes, for instance, a job fails only in the runs in which it has something to write.
 */
const calmMs = 30_000;

/** What the first runs of jobs are spread over, or over a job's period if that is shorter. */
const spreadMs = 1000;

/**
 * Runs all `jobs`. A job that fails runs again at its next time. First runs are spread: jobs of one
 * period would all run in the same moment, for good, each on a database connection of its own.
 */
export function createJobRunner(jobs: readonly BackgroundJob[], deps: JobRunnerDeps): JobRunner {
  let stops: (() => void)[] = [];
  return {
    start() {
      if (stops.length > 0) return;
      stops = jobs.map((job, at) => {
        const earlierMs = Math.min(job.everyMs, spreadMs) * at / jobs.length;
        return repeat({ firstMs: job.everyMs - earlierMs, ...job }, deps);
      });
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}

function repeat(
  { name, everyMs, firstMs, run }: Required<BackgroundJob>,
  { log, onRun = () => {}, clock = systemClock }: JobRunnerDeps,
): () => void {
  let isStopped = false;
  /** The last failure of a series whose beginning was logged, and whose end wasn't. */
  let failedMs: number | undefined;
  let timer: ReturnType<typeof setTimeout>;
  const runOnce = async () => {
    try {
      await run();
      if (failedMs !== undefined && clock.monotonicMs() - failedMs >= calmMs) {
        failedMs = undefined;
        log.info("a background job works again", { job: name });
      }
      onRun(name, "done");
    } catch (thrown) {
      // The stop has closed what the job was using.
      if (isStopped) return;
      // Logged once per outage: a database that is down for an hour is one event, not thousands.
      if (failedMs === undefined) {
        log.warn("a background job failed", { job: name, reason: reasonOf(thrown) });
      }
      failedMs = clock.monotonicMs();
      onRun(name, "failed");
    }
    if (!isStopped) timer = setTimeout(runOnce, everyMs);
  };
  timer = setTimeout(runOnce, firstMs);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
