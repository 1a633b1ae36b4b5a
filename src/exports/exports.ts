import type {
  ErasedSpan,
  ExportBucket,
  ExportFiles,
  ExportJob,
  ExportPath,
  NewExport,
} from "./export_job.ts";
import type { AuditNote } from "../audit/audit.ts";
import type { ExportSpec } from "./export_spec.ts";
import { exportBytes } from "./text.ts";
import { Fault, messageOf, overLimit, reasonOf } from "../shared/fault.ts";
import { createFairQueue } from "../base/fair_queue.ts";
import { createExportQueue, type ExportRunnerDeps } from "./runner.ts";

export interface ExportsDeps extends ExportRunnerDeps {
  newId: () => string;
  /** Waits this long. */
  pause: (ms: number) => Promise<void>;
  /** Where files that don't go to the bucket are stored. */
  defaultLocation: "files" | "chunks";
}

/** How long `close` waits for jobs to be released. */
const closeMs = 3_000;
/** How often a waiting request checks for a file that another process writes. */
const pollMs = 250;
/** Concurrent streamed exports of one account. */
const streamsAtOnce = 4;
/** Waiting streams of one account; most are short, and slow readers are cut off. */
const streamsWaiting = 64;

/** Limit on the jobs that are remembered as logged. */
const maxNotRemoved = 10_000;

/** Exports of accounts: streamed into a response, or written to files by jobs. */
export class Exports {
  readonly #deps: ExportsDeps;
  readonly #queue: ReturnType<typeof createExportQueue>;
  /** Jobs whose file a sweep could not remove, and has logged. */
  readonly #notRemoved = new Set<string>();
  readonly #streams = createFairQueue({
    // Readers may be slow, so no account waits for another's.
    ...{ atOnce: Infinity, atOncePerKey: streamsAtOnce, waitingPerKey: streamsWaiting },
    refuse: manyStreams,
  });

  constructor(deps: ExportsDeps) {
    this.#deps = deps;
    this.#queue = createExportQueue(deps);
  }

  get hasBucket(): boolean {
    return this.#deps.stores.bucket !== undefined;
  }

  /** How many jobs run in this process. */
  get running(): number {
    return this.#queue.size;
  }

  /**
   * Streams an export. Reads the first piece before it resolves, so that an unavailable store fails
   * the request rather than the stream. `onRows` gets the number of rows written so far. Throws
   * `rate_limit_exceeded` when too many streams of the account are waiting already.
   */
  async write(accountId: number, spec: ExportSpec, onRows?: (rows: number) => void) {
    const { source } = this.#deps;
    const leave = await this.#streams.enter(String(accountId));
    try {
      const snapshot = await source.snapshot();
      const pieces = exportBytes(source, { ...spec, accountId, snapshot }, onRows);
      return resumed(await pieces.next(), pieces, (failure) => {
        leave();
        if (failure) this.#warnOfAnswer(accountId, undefined, failure);
      });
    } catch (thrown) {
      leave();
      throw thrown;
    }
  }

  /** Counts the rows that an export would have now. */
  async count(accountId: number, { tables, ...spec }: ExportSpec): Promise<number> {
    const { source } = this.#deps;
    const snapshot = await source.snapshot();
    let rows = 0;
    for (const table of tables) {
      rows += await source.count({ ...spec, table, accountId, snapshot });
    }
    return rows;
  }

  /**
   * Creates a job, or finds that of the same request; it begins at once if this process has a free
   * slot.
   */
  async start(
    accountId: number,
    spec: ExportSpec,
    where: "job" | "bucket",
    more: Pick<NewExport, "audit" | "requestHash"> = {},
  ): Promise<ExportJob> {
    const { jobs, source, newId, defaultLocation } = this.#deps;
    const location: ExportPath = where === "bucket" ? "bucket" : defaultLocation;
    const snapshot = await source.snapshot();
    const job = await jobs.create({
      ...{ requestId: newId(), accountId, location, spec, snapshot },
      ...more,
    });
    await this.#queue.claim();
    return job;
  }

  /**
   * Waits until a job's file is ready. Returns undefined when `signal` aborts; the job goes on.
   * Throws when the job has failed or was deleted.
   */
  async finished(job: ExportJob, signal: AbortSignal): Promise<ExportJob | undefined> {
    const left = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => left.resolve(), { once: true });
    for (;;) {
      await Promise.race([this.#queue.endOf(job.requestId), left.promise]);
      if (signal.aborted) return undefined;
      const found = await this.#deps.jobs.find(job.accountId, job.requestId);
      if (!found) throw notFound(job.requestId, "was deleted");
      if (found.state === "deleted") throw notFound(job.requestId, erasedReason);
      if (found.state === "ready") return found;
      if (found.state === "failed") throw failed(found);
      await this.#queue.claim();
      if (this.#queue.endOf(job.requestId)) continue;
      // Another process works on it, or it waits for its turn.
      await Promise.race([this.#deps.pause(pollMs), left.promise]);
    }
  }

  /** Returns a signed URL of a job's file in the bucket. */
  async address(job: ExportJob): Promise<string> {
    return await (this.#filesOf(job) as ExportBucket).address(job, job.expiresAt);
  }

  /** Returns a job whose file can be read. Throws `export_not_found`, `export_not_ready`. */
  async ready(accountId: number, requestId: string): Promise<ExportJob> {
    const job = await this.#deps.jobs.find(accountId, requestId);
    switch (job?.state) {
      case "ready":
        return job;
      case "queued":
      case "running":
        throw new Fault("export_not_ready", { param: "request_id", retryAfterSeconds: 1 });
      case "failed":
        throw notFound(requestId, "failed and has no file; ask for it again");
      case "deleted":
        throw notFound(requestId, erasedReason);
      default:
        throw notFound(requestId);
    }
  }

  /** Reads the first piece before it resolves, as `write` does. */
  async read(job: ExportJob, start: number, end: number): Promise<AsyncGenerator<Uint8Array>> {
    const pieces = this.#filesOf(job).read(job, start, end);
    return resumed(await pieces.next(), pieces, (failure) => {
      if (failure) this.#warnOfAnswer(job.accountId, job.requestId, failure);
    });
  }

  list(accountId: number): Promise<ExportJob[]> {
    return this.#deps.jobs.list(accountId);
  }

  /**
   * Cancels a job or deletes its file. Resolves with whether the file is gone; otherwise `sweep`
   * removes it. Throws `export_not_found`.
   */
  async remove(accountId: number, requestId: string, audit: AuditNote): Promise<boolean> {
    const job = await this.#deps.jobs.remove(accountId, requestId, audit);
    if (!job) throw notFound(requestId);
    this.#queue.stop(requestId);
    try {
      await this.#clear(job);
      return true;
    } catch (thrown) {
      this.#warn(job, thrown);
      return false;
    }
  }

  /**
   * Erases the files of an account that may hold rows of these tables and this span; running jobs
   * start again. To be called when the rows are gone from the store. Returns the number of jobs.
   * Throws when a file could not be erased, and must then be called again.
   */
  async eraseExports(accountId: number, span: ErasedSpan): Promise<number> {
    const hit = await this.#deps.jobs.erase(accountId, span);
    for (const job of hit) {
      this.#queue.stop(job.requestId);
      await this.#clear(job);
    }
    return hit.length;
  }

  /** Claims waiting jobs. To be called every two seconds. */
  tick(): Promise<void> {
    return this.#queue.tick();
  }

  /**
   * Removes expired and leftover files. To be called every minute. A file that can't be removed is
   * logged once: its bucket may be away for days, or no longer be configured.
   */
  async sweep(): Promise<void> {
    const { jobs } = this.#deps;
    for (const job of await jobs.leftOver()) {
      await this.#clear(job).catch((thrown) => {
        if (this.#notRemoved.has(job.requestId)) return;
        if (this.#notRemoved.size >= maxNotRemoved) this.#notRemoved.clear();
        this.#notRemoved.add(job.requestId);
        this.#warn(job, thrown);
      });
    }
    await jobs.forget();
  }

  /** Releases the running jobs, for a shutdown. */
  close(): Promise<void> {
    return this.#queue.close(closeMs);
  }

  async #clear(job: ExportJob): Promise<void> {
    if (job.claim > 0) await this.#filesOf(job).remove(job, "all");
    await this.#deps.jobs.cleared(job);
  }

  #filesOf(job: ExportJob): ExportFiles {
    const files = this.#deps.stores[job.location];
    if (files) return files;
    throw new Fault("export_not_found", {
      param: "request_id",
      message:
        `request_id: the file of export '${job.requestId}' is in a storage that this service is no longer configured for.`,
    });
  }

  /** Its caller sees only that the answer has no end. */
  #warnOfAnswer(account: number, id: string | undefined, { thrown }: Failure): void {
    const reason = reasonOf(thrown);
    this.#deps.log.warn("an export's answer broke off", { account, id, reason });
  }

  #warn(job: ExportJob, thrown: unknown): void {
    this.#deps.log.warn("an export's file could not be deleted", {
      id: job.requestId,
      reason: messageOf(thrown),
    });
  }
}

interface Failure {
  readonly thrown: unknown;
}

/**
 * Puts the first piece back in front of the rest. `onEnd` is called when the generator ends, even
 * if it is closed before anything was read, where the `finally` of a generator function wouldn't
 * run.
 */
function resumed<T>(
  first: IteratorResult<T>,
  rest: AsyncGenerator<T>,
  onEnd: (failure?: Failure) => void,
): AsyncGenerator<T> {
  let waiting: IteratorResult<T> | undefined = first;
  const counted = async (next: Promise<IteratorResult<T>>) => {
    try {
      const result = await next;
      if (result.done) onEnd();
      return result;
    } catch (thrown) {
      onEnd({ thrown });
      throw thrown;
    }
  };
  return {
    next() {
      const next = waiting ? Promise.resolve(waiting) : rest.next();
      waiting = undefined;
      return counted(next);
    },
    return: (value) => rest.return(value).finally(() => onEnd()),
    throw: (thrown) => rest.throw(thrown).finally(() => onEnd()),
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await this.return(undefined);
    },
  };
}

function manyStreams(): Fault {
  return overLimit(
    `This account already has ${streamsAtOnce} exports streaming; retry when one has ended, or use jobs.`,
    5,
  );
}

function failed(job: ExportJob): Fault {
  const message = `The export '${job.requestId}' could not be written; ask for it again later.`;
  return job.location === "bucket"
    ? new Fault("store_unavailable", { message, note: "the bucket does not take exports" })
    : new Fault("internal_error", { message });
}

const erasedReason = "held data that was erased; its file is gone";

function notFound(requestId: string, why?: string): Fault {
  return new Fault("export_not_found", {
    param: "request_id",
    message: why === undefined
      ? `request_id: no export has the id '${requestId}'.`
      : `request_id: the export '${requestId}' ${why}.`,
  });
}
