import type { AuditNote } from "../audit/audit.ts";
import type { Tombstone } from "./tombstone.ts";

/** The tables that callers know (docs/data.md, "Deletion"). */
export const dataTables = ["interactions", "eval_runs", "eval_results"] as const;
export type DataTable = typeof dataTables[number];

/**
 * Which rows are meant: they narrow each other, in a list any value matches, and at least one is
 * given. A table that lacks a column that is asked for has no match.
 */
export interface Selectors {
  /** Times of `created_at`, half-open. */
  start?: Date;
  end?: Date;
  transactionIds?: readonly string[];
  sessionIds?: readonly string[];
  userIds?: readonly string[];
}

/** By what kind of thing rows are selected, never by which: the audit log is for good. */
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

/** What was asked for; rows made after `requestedAt` are not meant. */
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

/** What the three counts come to. */
export function totalOf(counts: DeletionCounts): number {
  return dataTables.reduce((sum, table) => sum + counts[table], 0);
}

/** `failed` is for deletions that are given up; so far each one is retried until it is done. */
export type DeletionState = "queued" | "running" | "done" | "failed";

/** A deletion as its account sees it; once done it is the receipt. */
export interface Deletion {
  deletionId: string;
  accountId: number;
  state: DeletionState;
  /** Erased so far. */
  counts: DeletionCounts;
  /** What was there when it was asked for; null before it has been counted. */
  expectedCount: number | null;
  selectorsHash: string;
  reason: string | null;
  requestedAt: Date;
  completedAt: Date | null;
  attempts: number;
}

/** A deletion that this process works on. `selectors` is null for one that is applied again. */
export interface ClaimedDeletion {
  tombstone: Tombstone;
  selectors: Selectors | null;
}

/** One step of erasing. */
export interface ErasedBatch {
  /** Nothing was left to erase. */
  isLast: boolean;
  /** Calls that are gone now. */
  transactionIds: readonly string[];
}

/** The rows that were erased in all, by the time at which they were made. */
export interface ErasedSpan {
  tables: readonly DataTable[];
  from: Date;
  to: Date;
}

/** What was erased since one asked last, by whichever process. */
export interface ErasureFeed {
  tombstones: readonly Tombstone[];
  transactionIds: readonly string[];
}

/** Where deletions live and how rows go. Implemented in `src/erasure/store/deletions.ts`. */
export interface DeletionStore {
  /** How many rows the request means, now. */
  count(request: DeletionRequest): Promise<DeletionCounts>;
  /**
   * Stores request and tombstone; from then on no process writes a matching call. `claimed`: this
   * process works on it; `queued`, the default: it waits for `claim`. Throws `rate_limit_exceeded` when too many
   * of the account wait.
   */
  add(request: DeletionRequest, as?: "queued" | "claimed"): Promise<Tombstone>;
  /** Notes a tombstone that a restored store has lost, to be applied again; false: it is there. */
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
  /** Erases some rows with all that hangs on them, and counts them. */
  eraseBatch(deletion: ClaimedDeletion): Promise<ErasedBatch>;
  /** Undefined when no row was erased. */
  erasedSpan(deletionId: string): Promise<ErasedSpan | undefined>;
  /** Turns it into its receipt; forgets the selectors. */
  finish(deletionId: string): Promise<void>;
  /** Undefined when the account has no such deletion. */
  find(accountId: number, deletionId: string): Promise<Deletion | undefined>;
  /** The latest first; those behind `after`. */
  list(accountId: number, page: { limit: number; after?: DeletionCursor }): Promise<Deletion[]>;
  waiting(): Promise<{ count: number; oldest: Date | null }>;
  /** What happened after the places that `news` gave last; a new reader begins at the start. */
  changeFeed(): { next(): Promise<ErasureFeed> };
  /** Removes what no process needs to hear of any more. */
  sweep(): Promise<void>;
}

/**
 * Export files that may hold erased rows: jobs of the account whose tables and span meet these
 * lose their file and bucket object, one that is running starts anew. Both ends are included.
 * Returns how many.
 */
export interface ExportEraser {
  eraseExports(
    accountId: number,
    rows: { tables: readonly DataTable[]; from: Date; to: Date },
  ): Promise<number>;
}
