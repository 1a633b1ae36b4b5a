import type { Clock } from "../base/clock.ts";
import type { SetTimer } from "../base/deadline.ts";
import type { Log } from "../base/log.ts";
import { systemCodeOf } from "../base/system_code.ts";
import type { AuditNote } from "../audit/audit.ts";
import {
  type ClaimedDeletion,
  type Deletion,
  type DeletionCounts,
  type DeletionRequest,
  type DeletionStore,
  type ErasedSpan,
  type ExportEraser,
  manyDeletions,
  maxWaitingDeletions,
} from "./deletion.ts";
import { createFairQueue } from "../base/fair_queue.ts";
import { Fault, isStoreAway, overLimit, reasonOf } from "../shared/fault.ts";
import { dayMs } from "../shared/time_span.ts";
import type { ErasureIndex, Erasures } from "./erasures.ts";
import type { Tombstone } from "./tombstone.ts";
import { WorkQueue } from "../work_queue/work_queue.ts";

/** A deletion that a caller requests. */
export interface WantedDeletion
  extends Omit<DeletionRequest, "deletionId" | "requestedAt" | "audit"> {
  /** Builds the entry of the audit log from the deletion's id. */
  audit?: (deletionId: string) => AuditNote;
}

export interface DeletionsDeps {
  store: DeletionStore;
  erasures: Pick<Erasures, "refresh">;
  exports: ExportEraser | undefined;
  /** `RETENTION_USAGE_DAYS`; undefined: forever. */
  retentionUsageDays: number | undefined;
  /**
   * Resolves when every call of the account that was answered so far is stored; throws when the
   * store is unavailable.
   */
  flushRecords: (options: { timeoutMs: number; accountId: number }) => Promise<void>;
  index: Pick<ErasureIndex, "arrivalOf">;
  clock: Clock;
  newId: () => string;
  setTimer?: SetTimer;
  log: Pick<Log, "info" | "warn">;
}

/** A deletion waits for pending records for as long as it takes. */
const noLimit = { timeoutMs: Infinity };
const closeMs = 10_000;
/** Queued deletions under way at once, each of another account. */
const jobsAtOnce = 3;
/** Concurrent batches of all deletions together, which leaves the database time for other work. */
const stepsAtOnce = 2;
/**
 * Deletions being stored at once. Each holds a connection of the database while it waits for long
 * writers, such as the drop of a month, and everybody else would wait for one.
 */
const storedAtOnce = 2;
/** Waiting requests of one account that erase or count rows before they are answered. */
const requestsWaiting = 64;

interface Erasing extends ClaimedDeletion {
  /** Its request waits for the receipt, so it doesn't count toward `jobsAtOnce`. */
  isAwaited?: boolean;
}

/** Erases records for their accounts (docs/data.md, "Deletion"). */
export class Deletions {
  readonly #deps: DeletionsDeps;
  readonly #queue: WorkQueue<Erasing>;
  readonly #requests = createFairQueue({
    ...{ atOnce: Infinity, atOncePerKey: 1, waitingPerKey: requestsWaiting },
    refuse: manyRequests,
  });
  readonly #steps = createFairQueue({ atOnce: stepsAtOnce, atOncePerKey: 1 });
  readonly #additions = createFairQueue({
    ...{ atOnce: storedAtOnce, atOncePerKey: 1, waitingPerKey: maxWaitingDeletions },
    refuse: manyDeletions,
  });
  #waiting: { count: number; oldest: Date | null } = { count: 0, oldest: null };

  constructor(deps: DeletionsDeps) {
    this.#deps = deps;
    const idOf = ({ tombstone }: Erasing) => tombstone.deletionId;
    this.#queue = new WorkQueue({
      idOf,
      room: (working) => jobsAtOnce - queuedOf(working).length,
      claim: (_most, working) => this.#claim(working),
      renew: (working) => deps.store.renew(working.map(idOf)),
      work: (deletion, stop) => this.#run(deletion, stop.signal),
      claimsAfterEach: true,
      ...(deps.setTimer ? { setTimer: deps.setTimer } : {}),
    });
  }

  /** Number of unfinished deletions, and how long the oldest has waited, as of the last claim. */
  get waiting(): { count: number; seconds: number } {
    const { count, oldest } = this.#waiting;
    const ms = oldest === null ? 0 : this.#deps.clock.now().getTime() - oldest.getTime();
    return { count, seconds: Math.max(0, ms / 1000) };
  }

  /** Counts matching rows, including those of every call answered so far, without erasing any. */
  async count(wanted: Omit<WantedDeletion, "audit">): Promise<DeletionCounts> {
    return await this.#requests.run(String(wanted.accountId), async () => {
      await this.#deps.flushRecords({ ...noLimit, accountId: wanted.accountId });
      return await this.#deps.store.count(this.#request(wanted));
    });
  }

  /**
   * Erases now and returns the receipt. Throws `store_unavailable` when the store or this process's
   * disk becomes unavailable midway; the rest is then erased as soon as it is back.
   */
  erase(wanted: WantedDeletion): Promise<Deletion> {
    return this.#requests.run(String(wanted.accountId), () => this.#eraseNow(wanted));
  }

  async #eraseNow(wanted: WantedDeletion): Promise<Deletion> {
    const { store, flushRecords } = this.#deps;
    await flushRecords({ ...noLimit, accountId: wanted.accountId });
    const request = this.#request(wanted);
    const tombstone = await this.#additions.run(
      String(wanted.accountId),
      () => store.add(request, "claimed"),
    );
    try {
      await this.#queue.add({ tombstone, selectors: request.selectors, isAwaited: true });
    } catch (thrown) {
      throw whereToFollow(thrown, request.deletionId);
    }
    return (await store.find(wanted.accountId, request.deletionId))!;
  }

  /** Queues the request and returns its id. From then on no matching call is written. */
  async queue(wanted: WantedDeletion): Promise<string> {
    const { store, erasures, flushRecords } = this.#deps;
    const deletionId = await this.#additions.run(String(wanted.accountId), async () => {
      // Records of calls answered before must be rows, so that they are erased and counted.
      await flushRecords({ ...noLimit, accountId: wanted.accountId });
      const request = this.#request(wanted);
      await store.add(request, "queued");
      return request.deletionId;
    });
    try {
      // Drops what this process holds in memory of the matching calls.
      await erasures.refresh();
    } catch (thrown) {
      throw whereToFollow(thrown, deletionId);
    }
    this.#queue.wake();
    return deletionId;
  }

  find(accountId: number, deletionId: string): Promise<Deletion | undefined> {
    return this.#deps.store.find(accountId, deletionId);
  }

  /** Lists deletions, the latest first, starting after `after`. */
  list(...asked: Parameters<DeletionStore["list"]>): Promise<Deletion[]> {
    return this.#deps.store.list(...asked);
  }

  /** Claims waiting deletions. To be called by a background job. */
  tick(): Promise<void> {
    return this.#queue.tick();
  }

  /**
   * Stops after the steps under way, and releases unfinished deletions. A step that takes longer
   * than ten seconds, as at a locked row, is cut off, and made again by whoever continues it.
   */
  close(): Promise<void> {
    return this.#queue.close(closeMs);
  }

  async #claim(working: readonly Erasing[]): Promise<ClaimedDeletion[]> {
    const { store } = this.#deps;
    this.#waiting = await store.waiting();
    if (this.#waiting.count === 0) return [];
    const claimed = await store.claim({
      deletions: working.map(({ tombstone }) => tombstone.deletionId),
      accounts: queuedOf(working).map(({ tombstone }) => tombstone.accountId),
    });
    return claimed ? [claimed] : [];
  }

  #request({ audit, ...wanted }: WantedDeletion): DeletionRequest {
    const { newId, clock, index } = this.#deps;
    const deletionId = newId();
    const now = { arrivedAt: clock.now(), arrivedMs: clock.monotonicMs() };
    return {
      ...wanted,
      deletionId,
      // Recorded like the arrival of a call, to cover every call so far.
      requestedAt: index.arrivalOf(wanted.accountId, now),
      ...(audit ? { audit: audit(deletionId) } : {}),
    };
  }

  /** A failed deletion waits longer each time, so that others get their turn. */
  async #run(deletion: Erasing, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#deps;
    const { deletionId } = deletion.tombstone;
    try {
      await this.#eraseAll(deletion, signal);
    } catch (thrown) {
      if (!deletion.isAwaited && !signal.aborted) {
        log.warn("a deletion failed", { deletion: deletionId, reason: reasonOf(thrown) });
      }
      // With the store unavailable this fails too; the claim then expires.
      await (signal.aborted ? store.release(deletionId) : store.postpone(deletionId)).catch(
        () => {},
      );
      throw thrown;
    }
  }

  /** Erases all rows. Can be interrupted at any point and repeated. */
  async #eraseAll(deletion: ClaimedDeletion, signal: AbortSignal): Promise<void> {
    const { store, erasures, flushRecords, log } = this.#deps;
    const { deletionId, accountId } = deletion.tombstone;
    await erasures.refresh();
    await flushRecords({ ...noLimit, accountId });
    await store.expect(deletion);
    let from: Date | undefined;
    for (;;) {
      if (signal.aborted) {
        throw new Fault("store_unavailable", {
          note: "the process ends, or another one took over",
        });
      }
      const step = () => store.eraseBatch(deletion, from);
      const { isLast, reached } = await this.#steps.run(String(accountId), step);
      if (isLast && from === undefined) break;
      // A step without `from` has to read past the account's other calls: only the last one does.
      from = isLast ? undefined : reached ?? from;
    }
    await this.#eraseExports(deletion.tombstone);
    await erasures.refresh();
    await store.finish(deletionId);
    log.info("a deletion is done", { deletion: deletionId });
  }

  async #eraseExports(tombstone: Tombstone): Promise<void> {
    const { store, exports, retentionUsageDays: days } = this.#deps;
    const erased = await store.erasedSpan(tombstone.deletionId);
    const expired = days && expiredSpan(tombstone, (await store.now()).getTime() - days * dayMs);
    for (const span of [erased, expired]) {
      if (span) await exports?.eraseExports(tombstone.accountId, span);
    }
  }
}

/** The span of matching rows that may have been erased for their age, but not from export files. */
function expiredSpan(
  { tables, start, end }: Tombstone,
  expiredMs: number,
): ErasedSpan | undefined {
  const from = start ?? new Date(0);
  const to = new Date(Math.min(end?.getTime() ?? Infinity, expiredMs));
  return from < to ? { tables, from, to } : undefined;
}

function queuedOf(working: readonly Erasing[]): Erasing[] {
  return working.filter(({ isAwaited }) => !isAwaited);
}

function manyRequests(): Fault {
  return overLimit(
    `This account has ${requestsWaiting} synchronous deletions waiting; retry when some are done, or use POST /api/v1/data.`,
    10,
  );
}

/**
 * Replaces a fault of the store, and an error of the disk that has the journal and tombstones, by
 * one that says where to follow the deletion.
 */
function whereToFollow(thrown: unknown, deletionId: string): unknown {
  if (!isStoreAway(thrown) && systemCodeOf(thrown) === undefined) return thrown;
  return new Fault("store_unavailable", {
    message:
      `The store became unavailable. The deletion continues when it is back: see GET /api/v1/data/requests/${deletionId}.`,
    note: reasonOf(thrown),
    cause: thrown,
  });
}
