import type { Log } from "../base/log.ts";
import { isStoreAway, messageOf } from "../shared/fault.ts";
import { WorkQueue } from "../work_queue/work_queue.ts";
import type {
  ClaimedExport,
  ExportBucket,
  ExportFiles,
  ExportJobStore,
  ExportPath,
} from "./export_job.ts";
import type { ExportSource } from "./export_source.ts";
import { exportBytes } from "./text.ts";

export interface ExportRunnerDeps {
  jobs: ExportJobStore;
  source: ExportSource;
  /** The storage that this process can reach. */
  stores: Readonly<Partial<Record<ExportPath, ExportFiles>>> & { bucket?: ExportBucket };
  log: Pick<Log, "warn">;
}

/** Concurrent jobs of this process, each of another account. */
const jobsAtOnce = 4;

/** Creates the queue of the jobs that this process works on. */
export function createExportQueue(deps: ExportRunnerDeps): WorkQueue<ClaimedExport> {
  const { jobs } = deps;
  return new WorkQueue({
    idOf: ({ job }) => job.requestId,
    room: (working) => jobsAtOnce - working.length,
    async claim(_most, working) {
      const claimed = await jobs.claim(working.map(({ job }) => job.requestId));
      return claimed ? [claimed] : [];
    },
    renew: (working) => jobs.renew(working.map(({ job }) => job)),
    work: (claimed, { signal }) => writeFile(deps, claimed, signal),
    claimsAfterEach: true,
  });
}

/**
 * Writes a job's file. Throws when the store is unavailable; other errors make the attempt fail.
 */
async function writeFile(
  { jobs, source, stores, log }: ExportRunnerDeps,
  { job, work }: ClaimedExport,
  signal: AbortSignal,
): Promise<void> {
  const files = stores[job.location];
  try {
    if (!files) throw new Error("the bucket that it is meant for is not configured any more");
    // Files that earlier attempts left.
    if (job.claim > 1) await files.remove({ ...job, claim: job.claim - 1 }, "all");
    const length = await files.save(job, untilAborted(exportBytes(source, work), signal));
    if (!await jobs.finish(job, length)) await files.remove(job, "this");
  } catch (thrown) {
    const isAway = isStoreAway(thrown);
    // The job may be ready although the store's answer was lost. If it isn't, its next attempt or
    // the sweep removes the file.
    if (!isAway) await files?.remove(job, "this").catch(() => {});
    const failed = !signal.aborted && !isAway;
    if (failed) log.warn("an export failed", { id: job.requestId, reason: messageOf(thrown) });
    // A claim that can't be released expires, since nobody renews it.
    await jobs.release(job, failed).catch(() => {});
    if (isAway) throw thrown;
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
