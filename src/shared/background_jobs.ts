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
 * How long no job must have failed until failures count as over. On a database that takes no writes,
 * for instance, a job fails only in the runs in which it has something to write.
 */
const calmMs = 30_000;

/** How many reasons of one outage are logged: a server that restarts has a few. */
const loggedReasons = 10;

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
      const outage = new Failures(deps, loggedReasons);
      stops = jobs.map((job, at) => {
        const earlierMs = Math.min(job.everyMs, spreadMs) * at / jobs.length;
        return repeat({ firstMs: job.everyMs - earlierMs, ...job }, deps, outage);
      });
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}

/**
 * Failures that are logged once, until they are over: a job's own, or those of all jobs while the
 * store is unavailable. A database that is down for an hour is one event, not thousands.
 */
class Failures {
  readonly #log: JobRunnerDeps["log"];
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #maxReasons: number;
  readonly #reasons = new Set<string>();
  /** Jobs that have failed since the beginning, and those that have not worked since they failed. */
  readonly #affected = new Set<string>();
  readonly #failing = new Set<string>();
  #failedMs = 0;

  constructor({ log, clock = systemClock }: JobRunnerDeps, maxReasons: number) {
    this.#log = log;
    this.#clock = clock;
    this.#maxReasons = maxReasons;
  }

  failed(job: string, thrown: unknown): void {
    this.#failedMs = this.#clock.monotonicMs();
    const isOld = this.#affected.size === 0 && this.#failing.has(job);
    this.#failing.add(job);
    if (isOld) return;
    this.#affected.add(job);
    const reason = reasonOf(thrown);
    if (this.#reasons.has(reason) || this.#reasons.size === this.#maxReasons) return;
    this.#reasons.add(reason);
    this.#log.warn("a background job failed", { job, reason });
  }

  worked(job: string): void {
    this.#failing.delete(job);
    if (!this.#affected.has(job) || this.#clock.monotonicMs() - this.#failedMs < calmMs) return;
    const [first, ...others] = this.#affected;
    this.#affected.clear();
    this.#reasons.clear();
    const also = others.length === 0 ? {} : { also: others.join(", ") };
    this.#log.info("a background job works again", { job: first, ...also });
  }
}

function repeat(
  { name, everyMs, firstMs, run }: Required<BackgroundJob>,
  deps: JobRunnerDeps,
  outage: Failures,
): () => void {
  const { onRun = () => {} } = deps;
  const own = new Failures(deps, 1);
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout>;
  const runOnce = async () => {
    try {
      await run();
      outage.worked(name);
      own.worked(name);
      onRun(name, "done");
    } catch (thrown) {
      // The stop has closed what the job was using.
      if (isStopped) return;
      (isStoreAway(thrown) ? outage : own).failed(name, thrown);
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
