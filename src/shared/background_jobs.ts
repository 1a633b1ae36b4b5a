import { type Clock, systemClock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { isStoreAway, reasonOf } from "./fault.ts";

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
 * How long no job must have failed until a series of failures is over. On a database that takes no
 * writes, for instance, a job fails only in the runs in which it has something to write.
 */
const calmMs = 30_000;

/** With so many series no further reason is logged. A server that restarts has a few reasons. */
const maxSeries = 50;

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
      const failures = new Failures(deps);
      stops = jobs.map((job, at) => {
        const earlierMs = Math.min(job.everyMs, spreadMs) * at / jobs.length;
        return repeat({ firstMs: job.everyMs - earlierMs, ...job }, deps, failures);
      });
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}

/**
 * Failures of all jobs. A series of them is logged once, until it is over: those of one job or, for
 * each reason why the store is unavailable, of all jobs. A database that is down for an hour is one
 * event, not thousands.
 */
class Failures {
  readonly #log: JobRunnerDeps["log"];
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #series = new Map<string, { readonly jobs: Set<string>; failedMs: number }>();
  /** Jobs that have not worked since they failed. */
  readonly #failing = new Set<string>();

  constructor({ log, clock = systemClock }: JobRunnerDeps) {
    this.#log = log;
    this.#clock = clock;
  }

  failed(job: string, thrown: unknown): void {
    this.#failing.add(job);
    const reason = reasonOf(thrown);
    const key = isStoreAway(thrown) ? `store: ${reason}` : `job: ${job}`;
    const series = this.#series.get(key) ?? { jobs: new Set(), failedMs: 0 };
    if (series.jobs.size === 0) {
      if (isStoreAway(thrown) && this.#series.size >= maxSeries) return;
      this.#series.set(key, series);
      this.#log.warn("a background job failed", { job, reason });
    }
    series.jobs.add(job);
    series.failedMs = this.#clock.monotonicMs();
  }

  /** Ends the job's series that are over, in one line for all jobs that work again. */
  worked(job: string): void {
    this.#failing.delete(job);
    const working = new Set<string>();
    for (const [key, { jobs, failedMs }] of this.#series) {
      if (!jobs.has(job) || this.#clock.monotonicMs() - failedMs < calmMs) continue;
      this.#series.delete(key);
      for (const one of jobs) if (!this.#failing.has(one)) working.add(one);
    }
    if (working.size === 0) return;
    const [first, ...others] = working;
    const also = others.length === 0 ? {} : { also: others.join(", ") };
    this.#log.info("a background job works again", { job: first, ...also });
  }
}

function repeat(
  { name, everyMs, firstMs, run }: Required<BackgroundJob>,
  { onRun = () => {} }: Pick<JobRunnerDeps, "onRun">,
  failures: Failures,
): () => void {
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout>;
  const runOnce = async () => {
    try {
      await run();
      failures.worked(name);
      onRun(name, "done");
    } catch (thrown) {
      // The stop has closed what the job was using.
      if (isStopped) return;
      failures.failed(name, thrown);
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
