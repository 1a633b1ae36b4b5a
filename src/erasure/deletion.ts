import type { AuditNote } from "../audit/audit.ts";
import { type Fault, overLimit } from "../shared/fault.ts";
import type { Tombstone } from "./tombstone.ts";

/** The tables that callers know (docs/data.md, "Deletion"). */
export const dataTables = ["interactions", "eval_runs", "eval_results"] as const;
export type DataTable = typeof dataTables[number];

/**
 * Which rows to erase. A row must match every selector, and any value of a list; there is at least
 * one selector. A table without a selector's column has no matching rows.
 */
export interface Selectors {
  /** A half-open span of `created_at`. */
  start?: Date;
  end?: Date;
  transactionIds?: readonly string[];
  sessionIds?: readonly string[];
  userIds?: readonly string[];
}

/** Returns the kinds of selectors without their values: the audit log is never erased. */
export function selectorKinds(
  { userIds, sessionIds, transactionIds, start, end }: Selectors,
): string {
  const counted = (ids: readonly string[] | undefined, one: string) =>
    ids === undefined ? [] : [`${ids.length} ${one}${ids.length === 1 ? "" : "s"}`];
  return [
    ...(userIds ? ["user"] : []),
    ...counted(sessionIds, "session"),
    ...counted(transactionIds, "transaction"),
    ...(start || end ? ["time"] : []),
  ].join(", ");
}

/** A requested deletion; rows created after `requestedAt` stay. */
export interface DeletionRequest {
  deletionId: string;
  accountId: number;
  tables: readonly DataTable[];
  selectors: Selectors;
  reason: string | null;
  requestedAt: Date;
  /** Written to the audit log in the transaction that stores the request. */
  audit?: AuditNote;
}

/** The last deletion of a page. */
export interface DeletionCursor {
  requestedAt: Date;
  deletionId: string;
}

/** Number of rows by table. */
export type DeletionCounts = Readonly<Record<DataTable, number>>;

export const noCounts: DeletionCounts = { interactions: 0, eval_runs: 0, eval_results: 0 };

export function totalOf(counts: DeletionCounts): number {
  return dataTables.reduce((sum, table) => sum + counts[table], 0);
}

/** `failed` is not used yet: each deletion is retried until it is done. */
export type DeletionState = "queued" | "running" | "done" | "failed";

/** A deletion as its account sees it; once done, it is the receipt. */
export interface Deletion {
  deletionId: string;
  accountId: number;
  state: DeletionState;
  /** Rows erased so far. */
  counts: DeletionCounts;
  /** Matching rows when work on it began; null before that. */
  expectedCount: number | null;
  selectorsHash: string;
  reason: string | null;
  requestedAt: Date;
  completedAt: Date | null;
  attempts: number;
}

/**
 * A deletion that this process works on. `selectors` is null for one restored from its tombstone.
 */
export interface ClaimedDeletion {
  tombstone: Tombstone;
  selectors: Selectors | null;
}

export interface ErasedBatch {
  /** Whether nothing is left to erase. */
  isLast: boolean;
  /** The erased calls. */
  transactionIds: readonly string[];
  /**
   * Every matching call older than this is erased or, once no call is left, every matching row of
   * evaluations. Undefined when the batch found none.
   */
  reached?: Date | undefined;
}

/** Tables and creation times of all rows that a deletion erased. */
export interface ErasedSpan {
  tables: readonly DataTable[];
  from: Date;
  to: Date;
}

/** Deletions and erased calls, by any process, since the last read. */
export interface ErasureFeed {
  tombstones: readonly Tombstone[];
  transactionIds: readonly string[];
}

/** Stores deletions and erases rows. Implemented in `src/erasure/store/deletions.ts`. */
export interface DeletionStore {
  /** Counts the rows that the request matches now. */
  count(request: DeletionRequest): Promise<DeletionCounts>;
  /**
   * Stores request and tombstone; from then on no process writes a matching call. `claimed`: this
   * process works on it; `queued`, the default: it waits for `claim`. Throws `rate_limit_exceeded`
   * instead of queueing it when too many deletions of the account wait.
   */
  add(request: DeletionRequest, as?: "queued" | "claimed"): Promise<Tombstone>;
  /** Adds a tombstone that a restored backup lacks, and queues it; false if none lacks it. */
  restore(tombstone: Tombstone): Promise<boolean>;
  /**
   * Claims a deletion that nobody works on, except these deletions and those of these accounts.
   * Takes the oldest deletion of the account with the fewest recent ones.
   */
  claim(
    except?: { deletions?: readonly string[]; accounts?: readonly number[] },
  ): Promise<ClaimedDeletion | undefined>;
  /** Renews this process's claims; returns the ids of the deletions that it still holds. */
  renew(deletionIds: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Releases a deletion that failed; it can't be claimed for a while, longer after each attempt.
   */
  postpone(deletionId: string): Promise<void>;
  /** Releases a deletion, which can be claimed again at once. */
  release(deletionId: string): Promise<void>;
  /** Stores how many rows the deletion will erase, unless that is stored already. */
  expect(deletion: ClaimedDeletion): Promise<void>;
  /**
   * Erases and counts some rows, the oldest calls first, and everything that belongs to them. With
   * `from`, it looks neither for older rows nor for data of calls without a row; the first and the
   * last step, without `from`, look for both.
   */
  eraseBatch(deletion: ClaimedDeletion, from?: Date): Promise<ErasedBatch>;
  /** Returns the span of the erased rows; undefined when no row was erased. */
  erasedSpan(deletionId: string): Promise<ErasedSpan | undefined>;
  /** Returns the time by the database's clock, which retention never runs ahead of. */
  now(): Promise<Date>;
  /** Turns a deletion into its receipt, which no longer has the selectors. */
  finish(deletionId: string): Promise<void>;
  /** Returns a deletion; undefined when the account has no such deletion. */
  find(accountId: number, deletionId: string): Promise<Deletion | undefined>;
  /** Lists deletions, the latest first, starting after `after`. */
  list(accountId: number, page: { limit: number; after?: DeletionCursor }): Promise<Deletion[]>;
  waiting(): Promise<{ count: number; oldest: Date | null }>;
  /** Opens a feed of erasures; each read continues where the last one ended. */
  changeFeed(): { next(): Promise<ErasureFeed> };
  /** Removes feed entries that no process can still need. */
  sweep(): Promise<void>;
}

/**
 * Removes export files that may hold erased rows, i.e. those of the account whose tables and span
 * overlap `rows`, both ends included. A running job starts again. Returns the number of jobs.
 */
export interface ExportEraser {
  eraseExports(accountId: number, rows: ErasedSpan): Promise<number>;
}

/** The most deletions of one account that wait: to be stored, and to be done. */
export const maxWaitingDeletions = 100;

export function manyDeletions(): Fault {
  return overLimit(
    `This account has ${maxWaitingDeletions} deletions waiting; try again when some are done.`,
    60,
  );
}
