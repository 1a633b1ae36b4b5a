import type { AuditNote } from "../audit/audit.ts";
import type { Tombstone } from "./tombstone.ts";

/** The tables that callers know (docs/data.md, "Deletion"). */
export const dataTables = ["interactions", "eval_runs", "eval_results"] as const;
export type DataTable = typeof dataTables[number];

/**
 * Which rows to erase. A row must match every selector, and any value of a list; there is at least
 * one selector. A table without a selector's column has no matching rows.
 */
export interface Selectors {
  /** Times of `created_at`, half-open. */
  start?: Date;
  end?: Date;
  transactionIds?: readonly string[];
  sessionIds?: readonly string[];
  userIds?: readonly string[];
}

/** Names the kinds of selectors without their values: the audit log is never erased. */
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

/** A requested deletion; rows made after `requestedAt` stay. */
export interface DeletionRequest {
  deletionId: string;
  accountId: number;
  tables: readonly DataTable[];
  selectors: Selectors;
  reason: string | null;
  requestedAt: Date;
  /** Noted in the transaction that stores the request. */
  audit?: AuditNote;
}

/** Where a page of deletions ends. */
export interface DeletionCursor {
  requestedAt: Date;
  deletionId: string;
}

/** Rows of each table that callers know. */
export type DeletionCounts = Readonly<Record<DataTable, number>>;

export const noCounts: DeletionCounts = { interactions: 0, eval_runs: 0, eval_results: 0 };

export function totalOf(counts: DeletionCounts): number {
  return dataTables.reduce((sum, table) => sum + counts[table], 0);
}

/** `failed` is not used yet: each deletion is retried until it is done. */
export type DeletionState = "queued" | "running" | "done" | "failed";

/** A deletion as its account sees it; once done it is the receipt. */
export interface Deletion {
  deletionId: string;
  accountId: number;
  state: DeletionState;
  /** Erased so far. */
  counts: DeletionCounts;
  /** Matching rows when it was requested; null before they are counted. */
  expectedCount: number | null;
  selectorsHash: string;
  reason: string | null;
  requestedAt: Date;
  completedAt: Date | null;
  attempts: number;
}

/** A deletion that this process works on. `selectors` is null for one restored from its tombstone. */
export interface ClaimedDeletion {
  tombstone: Tombstone;
  selectors: Selectors | null;
}

export interface ErasedBatch {
  /** Nothing was left to erase. */
  isLast: boolean;
  /** Calls that are gone now. */
  transactionIds: readonly string[];
  /**
   * No call that matches and is older than this is left, or of evaluations no row; undefined when the
   * batch found none.
   */
  reached?: Date | undefined;
}

/** Tables and creation times of all rows that a deletion erased. */
export interface ErasedSpan {
  tables: readonly DataTable[];
  from: Date;
  to: Date;
}

/** What any process erased since the last read. */
export interface ErasureFeed {
  tombstones: readonly Tombstone[];
  transactionIds: readonly string[];
}

/** Stores deletions and erases rows. Implemented in `src/erasure/store/deletions.ts`. */
export interface DeletionStore {
  /** How many rows the request matches now. */
  count(request: DeletionRequest): Promise<DeletionCounts>;
  /**
   * Stores request and tombstone; from then on no process writes a matching call. `claimed`: this
   * process works on it; `queued`, the default: it waits for `claim`, or `rate_limit_exceeded` is
   * thrown where too many of the account wait.
   */
  add(request: DeletionRequest, as?: "queued" | "claimed"): Promise<Tombstone>;
  /** Adds a tombstone that a restored backup has lost, and queues it; false: it is there. */
  restore(tombstone: Tombstone): Promise<boolean>;
  /**
   * Claims a deletion that nobody works on, none of these and of none of these accounts: the oldest
   * of the account that had the fewest of late.
   */
  claim(
    except?: { deletions?: readonly string[]; accounts?: readonly number[] },
  ): Promise<ClaimedDeletion | undefined>;
  /** Renews this process's claims; gives the ids of those that hold. */
  renew(deletionIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Gives back one that failed; nobody claims it for a while, longer after each attempt. */
  postpone(deletionId: string): Promise<void>;
  /** Gives one back, to be claimed at once. */
  release(deletionId: string): Promise<void>;
  /** Notes how many rows a deletion that begins will erase. */
  expect(deletion: ClaimedDeletion): Promise<void>;
  /**
   * Erases and counts some rows, the oldest calls first, and everything that belongs to them. `from`:
   * looks for no row older than this, nor for what has no row, as the first step and the last one do.
   */
  eraseBatch(deletion: ClaimedDeletion, from?: Date): Promise<ErasedBatch>;
  /** Undefined when no row was erased. */
  erasedSpan(deletionId: string): Promise<ErasedSpan | undefined>;
  /** Turns it into its receipt; forgets the selectors. */
  finish(deletionId: string): Promise<void>;
  /** Undefined when the account has no such deletion. */
  find(accountId: number, deletionId: string): Promise<Deletion | undefined>;
  /** The latest first; those behind `after`. */
  list(accountId: number, page: { limit: number; after?: DeletionCursor }): Promise<Deletion[]>;
  waiting(): Promise<{ count: number; oldest: Date | null }>;
  /** Reads what was erased, each time from where the last read ended. */
  changeFeed(): { next(): Promise<ErasureFeed> };
  /** Removes feed entries that no process can still need. */
  sweep(): Promise<void>;
}

/**
 * Removes export files that may hold erased rows: those of the account whose tables and span overlap
 * these, both ends included. A running job starts again. Returns the number of jobs.
 */
export interface ExportEraser {
  eraseExports(
    accountId: number,
    rows: { tables: readonly DataTable[]; from: Date; to: Date },
  ): Promise<number>;
}
