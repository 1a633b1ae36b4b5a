import type { Log } from "../base/log.ts";
import type {
  ClaimedExport,
  ExportBucket,
  ExportFiles,
  ExportJob,
  ExportJobStore,
  ExportPath,
} from "./export_job.ts";
import type { ExportSource } from "./export_source.ts";
import { exportBytes } from "./text.ts";
import { Fault, messageOf } from "../shared/fault.ts";

export interface ExportRunnerDeps {
  jobs: ExportJobStore;
  source: ExportSource;
  /** Places that this process can reach. */
  stores: Readonly<Partial<Record<ExportPath, ExportFiles>>> & { bucket?: ExportBucket };
  log: Pick<Log, "warn">;
  /** A timer. */
  pause: (ms: number) => Promise<void>;
  /** Jobs that this process works on at once, of as many accounts. */
  slots?: number;
}

interface Run {
  job: ExportJob;
  abort: AbortController;
  ended: Promise<void>;
}

/** How long an end waits for jobs to be given back. */
const stopMs = 3000;

/** Works on jobs of exports, this process's share of them. */
export class ExportRunner {
  readonly #deps: ExportRunnerDeps;
  readonly #running = new Map<string, Run>();
  #beginning = 0;
  #takenOver: Promise<void> | undefined;
  #stopped = false;

  constructor(deps: ExportRunnerDeps) {
    this.#deps = deps;
  }

  /** How many jobs run here. */
  get running(): number {
    return this.#running.size;
  }

  /** Begins a job here if there is room; resolves with what there is to wait for. */
  async begin(requestId?: string): Promise<{ ended: Promise<void> } | undefined> {
    const taken = this.#running.size + this.#beginning;
    if (this.#stopped || taken >= (this.#deps.slots ?? 4)) return undefined;
    this.#beginning++;
    try {
      await this.#takeOver();
      const claimed = await this.#deps.jobs.claim(requestId);
      return claimed && this.#start(claimed);
    } finally {
      this.#beginning--;
    }
  }

  /** The end of a job that runs here. */
  endOf(requestId: string): Promise<void> | undefined {
    return this.#running.get(requestId)?.ended;
  }

  /** Ends what is done for a job here; its claim is lost already. */
  drop(requestId: string): void {
    this.#running.get(requestId)?.abort.abort();
  }

  /** Keeps claims alive and takes up what waits; a job for every two seconds. */
  async tick(): Promise<void> {
    const runs = [...this.#running.values()];
    const ours = await this.#deps.jobs.renew(runs.map(({ job }) => job));
    for (const { job, abort } of runs) if (!ours.has(job.requestId)) abort.abort();
    while (await this.begin());
  }

  /** Gives back what runs, for others to take up. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const runs = [...this.#running.values()];
    if (runs.length === 0) return;
    for (const { abort } of runs) abort.abort();
    await Promise.race([Promise.all(runs.map(({ ended }) => ended)), this.#deps.pause(stopMs)]);
  }

  async #takeOver(): Promise<void> {
    this.#takenOver ??= this.#deps.jobs.takeOver();
    try {
      await this.#takenOver;
    } catch (thrown) {
      this.#takenOver = undefined;
      throw thrown;
    }
  }

  #start(claimed: ClaimedExport): Run {
    const { requestId } = claimed.job;
    // An attempt that lost its claim may still be winding down here.
    this.drop(requestId);
    const abort = new AbortController();
    const ended = this.#work(claimed, abort.signal).finally(() => {
      if (this.#running.get(requestId) === run) this.#running.delete(requestId);
      // Whoever is next need not wait for the tick, which says what fails.
      void this.begin().catch(() => {});
    });
    const run = { job: claimed.job, abort, ended };
    this.#running.set(requestId, run);
    return run;
  }

  /** Never throws. */
  async #work({ job, work }: ClaimedExport, signal: AbortSignal): Promise<void> {
    const { jobs, source, log } = this.#deps;
    const files = this.#deps.stores[job.location];
    try {
      if (!files) throw new Error("the bucket that it is meant for is not configured any more");
      // What an earlier attempt left.
      if (job.claim > 1) await files.remove({ ...job, claim: job.claim - 1 }, "all");
      const length = await files.save(job, untilAborted(exportBytes(source, work), signal));
      if (!await jobs.finish(job, length)) await files.remove(job, "this");
    } catch (thrown) {
      await files?.remove(job, "this").catch(() => {});
      const failed = !signal.aborted && !isAway(thrown);
      if (failed) {
        log.warn("an export failed", { id: job.requestId, reason: messageOf(thrown) });
      }
      // A claim that can't be given back ends by itself, since nobody renews it.
      await jobs.release(job, failed).catch(() => {});
    }
  }
}

async function* untilAborted(
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    signal.throwIfAborted();
    yield piece;
  }
  signal.throwIfAborted();
}

function isAway(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.code === "store_unavailable";
}
