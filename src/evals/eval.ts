import type { Grader } from "../../contracts/data/eval_request.ts";
import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import type { AuditNote } from "../audit/audit.ts";
import type { InteractionQuery } from "../shared/interaction.ts";
import type { StoredCall } from "../records/analytics_store.ts";

export type EvalState = "queued" | "running" | "done" | "failed" | "cancelled";

/** The result of evaluating one stored interaction. */
export type ItemOutcome = "passed" | "failed" | "skipped" | "error";

/** Figures of a run so far; cost in nano-dollars. */
export interface EvalCounts {
  total: number;
  done: number;
  passed: number;
  failed: number;
  skipped: number;
  errors: number;
  costNanos: bigint;
  unpricedCalls: number;
}

export interface EvalRun {
  evalRunId: string;
  createdAt: Date;
  accountId: number;
  apiKeyId: string;
  name: string | null;
  model: string;
  /** The JSON text of the request's filters, with null for values that may name a person. */
  filtersText: string;
  graders: readonly Grader[];
  state: EvalState;
  counts: EvalCounts;
  waiting: { for: string; until: Date } | null;
  error: { code: string; message: string } | null;
  finishedAt: Date | null;
}

/** A run to create. `select` chooses the stored interactions. */
export interface NewEvalRun
  extends Omit<EvalRun, "state" | "counts" | "waiting" | "error" | "finishedAt"> {
  select: InteractionQuery;
  limit: number;
  sample: "newest" | "random";
  /** `X-Request-ID`, the caller's or ours, and a hash of the body. */
  requestId: string;
  requestHash: string;
  /** Written to the audit log in the transaction that stores the run. */
  audit?: AuditNote;
}

/** One judgement, as a row of `eval_results`. */
export interface EvalResult {
  transactionId: string;
  answerTransactionId: string | null;
  judgeTransactionId: string | null;
  sessionId: string | null;
  userId: string | null;
  createdAt: Date;
  graderIndex: number;
  grader: Grader;
  passed: boolean | null;
  score: number | null;
  detail: string | null;
}

/** Where runs and results live. Implemented in `src/evals/store/evals.ts`. */
export interface EvalStore {
  /**
   * Stores a run with its interactions. A repeat of the same request within 24 hours returns the
   * first request's run; with another body it throws `idempotency_conflict`. Throws
   * `rate_limit_exceeded` when the account has too many unfinished runs.
   */
  create(run: NewEvalRun): Promise<{ evalRunId: string; total: number; repeated: boolean }>;
  find(accountId: number, evalRunId: string): Promise<EvalRun | undefined>;
  /** Lists runs, newest first, starting after `after`. */
  list(accountId: number, page: { limit: number; after?: RunCursor }): Promise<EvalRun[]>;
  /** Lists results, sorted by stored interaction and grader, starting after `after`. */
  results(
    accountId: number,
    evalRunId: string,
    page: { limit: number; after?: ResultCursor },
  ): Promise<EvalResult[]>;
  /** Cancels the run unless it has ended, and returns it; undefined when there is no such run. */
  cancel(accountId: number, evalRunId: string, audit?: AuditNote): Promise<EvalRun | undefined>;
}

/** The last run of a page. */
export interface RunCursor {
  createdAt: Date;
  evalRunId: string;
}

/** The last result of a page. */
export interface ResultCursor {
  transactionId: string;
  graderIndex: number;
}

/** A run that this process has claimed. */
export type ClaimedRun = Pick<
  EvalRun,
  "evalRunId" | "createdAt" | "accountId" | "apiKeyId" | "model" | "graders"
>;

/** One stored interaction of a run. */
export interface EvalItem {
  position: number;
  transactionId: string;
  createdAt: Date;
  /**
   * Tries at vendors that were overloaded or unreachable, the current one included; 0: no call was
   * begun. A pause for credit or rate isn't a try, since no vendor was called.
   */
  attempts: number;
  /** Ids of its calls whose cost is already in the run's counts. */
  countedCalls: readonly string[];
}

export interface FinishedItem {
  outcome: ItemOutcome;
  reason: string | null;
  results: readonly Omit<EvalResult, "createdAt">[];
  costNanos: bigint;
  unpricedCalls: number;
}

/**
 * `finishedAt` is by this process's clock, like the time of a deletion, which results' times are
 * compared with.
 */
export type EndedItem = FinishedItem & { finishedAt: Date };

export type CallCost = Pick<FinishedItem, "costNanos" | "unpricedCalls">;

/** The store as the worker uses it. Implemented in `src/evals/store/eval_work.ts`. */
export interface EvalWork {
  /**
   * Claims a run that nobody works on, except these runs and those of these accounts. Takes the
   * oldest run of the account with the fewest recent runs.
   */
  claim(except: { runs: readonly string[]; accounts: readonly number[] }): Promise<
    ClaimedRun | undefined
  >;
  /** Whether there is a run to claim, other than these and those of these accounts. */
  othersWait(except: { runs: readonly string[]; accounts: readonly number[] }): Promise<boolean>;
  /** Renews this process's claims; returns the ids of the runs that it still holds. */
  renew(runIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Returns the next unfinished items behind position `after`, in order. */
  items(run: ClaimedRun, after: number, limit: number): Promise<EvalItem[]>;
  /** Returns the run's state; undefined when the claim was lost or the run erased. */
  stateOf(run: ClaimedRun): Promise<EvalState | undefined>;
  /** Returns the stored interaction; undefined when it was erased. */
  stored(run: ClaimedRun, item: EvalItem): Promise<StoredCall | undefined>;
  /**
   * Returns a completed call that this run made under this request id. There is one when an earlier
   * try ended before its answer was judged.
   */
  earlierCall(run: ClaimedRun, requestId: string): Promise<StoredCall | undefined>;
  /** Stores that a call is about to be made. */
  begin(run: ClaimedRun, item: EvalItem): Promise<void>;
  /** Counts a failed call that will be tried again, and its cost. */
  countTry(run: ClaimedRun, item: EvalItem, spent: CallCost): Promise<void>;
  /**
   * Adds the cost of calls whose item doesn't end now. Without this the cost would be lost if the
   * run ends before the item does.
   */
  countCalls(
    run: ClaimedRun,
    item: EvalItem,
    calls: readonly (CallCost & { transactionId: string | null })[],
  ): Promise<void>;
  /** Stores an item's outcome and results, once; returns false when the claim was lost. */
  finish(run: ClaimedRun, item: EvalItem, done: EndedItem): Promise<boolean>;
  /** Pauses a run; a run that has been waiting for a day ends as failed with this reason. */
  pause(run: ClaimedRun, wait: { ms: number; code: ErrorCode; message: string }): Promise<void>;
  end(
    run: ClaimedRun,
    state: "done" | "failed" | "cancelled",
    error?: { code: ErrorCode; message: string },
  ): Promise<void>;
  /** Releases the claim; the run can be claimed again at once. */
  release(run: ClaimedRun): Promise<void>;
}

/** The most unfinished runs of one account. */
export const maxUnfinishedRuns = 100;

export const noCounts: EvalCounts = {
  total: 0,
  done: 0,
  passed: 0,
  failed: 0,
  skipped: 0,
  errors: 0,
  costNanos: 0n,
  unpricedCalls: 0,
};

export function countItem(counts: EvalCounts, done: FinishedItem): EvalCounts {
  const field = done.outcome === "error" ? "errors" : done.outcome;
  return { ...countCost(counts, done), done: counts.done + 1, [field]: counts[field] + 1 };
}

export function countCost(counts: EvalCounts, { costNanos, unpricedCalls }: CallCost): EvalCounts {
  return {
    ...counts,
    costNanos: counts.costNanos + costNanos,
    unpricedCalls: counts.unpricedCalls + unpricedCalls,
  };
}

/** Identifies an item; the request ids of its calls are made from it. */
type ItemKey = Pick<ClaimedRun, "evalRunId"> & Pick<EvalItem, "position">;

/**
 * Returns the request id of the calls that repeat an item's interaction; every try has the same.
 */
export function answerRequestId({ evalRunId, position }: ItemKey): string {
  return `${evalRunId}/${position}`;
}

/** Returns the request id of the calls that ask this judge about the item's answer. */
export function judgeRequestId(item: ItemKey, graderIndex: number): string {
  return `${answerRequestId(item)}/judge-${graderIndex}`;
}
