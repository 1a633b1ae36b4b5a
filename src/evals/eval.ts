import type { Grader } from "../../contracts/data/eval_request.ts";
import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import type { AuditNote } from "../audit/audit.ts";
import type { InteractionQuery } from "../shared/interaction.ts";
import type { StoredCall } from "../records/analytics_store.ts";

export type EvalState = "queued" | "running" | "done" | "failed" | "cancelled";

/** What became of one stored interaction. */
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
  /** JSON text as it was sent. */
  filtersText: string;
  graders: readonly Grader[];
  state: EvalState;
  counts: EvalCounts;
  waiting: { for: string; until: Date } | null;
  error: { code: string; message: string } | null;
  finishedAt: Date | null;
}

/** A run as it is asked for. `select` says which stored interactions. */
export interface NewEvalRun
  extends Omit<EvalRun, "state" | "counts" | "waiting" | "error" | "finishedAt"> {
  select: InteractionQuery;
  limit: number;
  sample: "newest" | "random";
  /** `X-Request-ID`, the caller's or ours, and a hash of the body. */
  requestId: string;
  requestHash: string;
  /** Noted in the transaction that stores the run. */
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
   * Stores a run with the interactions that it is about. A repeat of the same request within 24
   * hours gives the first one's run; with another body it throws `idempotency_conflict`. An account
   * with too many unfinished runs gets `rate_limit_exceeded`.
   */
  create(run: NewEvalRun): Promise<{ evalRunId: string; total: number; repeated: boolean }>;
  find(accountId: number, evalRunId: string): Promise<EvalRun | undefined>;
  /** Newest first; those behind `after`. */
  list(accountId: number, page: { limit: number; after?: RunCursor }): Promise<EvalRun[]>;
  /** By stored interaction and grader; those behind `after`. */
  results(
    accountId: number,
    evalRunId: string,
    page: { limit: number; after?: ResultCursor },
  ): Promise<EvalResult[]>;
  /** Ends a run that has not ended; undefined when there is none. */
  cancel(accountId: number, evalRunId: string, audit?: AuditNote): Promise<EvalRun | undefined>;
}

/** Where a page of runs ends. */
export interface RunCursor {
  createdAt: Date;
  evalRunId: string;
}

/** Where a page of results ends. */
export interface ResultCursor {
  transactionId: string;
  graderIndex: number;
}

/** A run that a process works on. */
export interface ClaimedRun {
  evalRunId: string;
  createdAt: Date;
  accountId: number;
  apiKeyId: string;
  model: string;
  graders: readonly Grader[];
}

/** One stored interaction of a run. */
export interface EvalItem {
  position: number;
  transactionId: string;
  createdAt: Date;
  /**
   * Its tries at vendors that were overloaded or away, the present one included; 0: no call was begun.
   * Pauses for credit or rate are no tries: nobody was asked.
   */
  attempts: number;
  /** Ids of its calls whose cost the run's counts hold already. */
  countedCalls: readonly string[];
}

export interface FinishedItem {
  outcome: ItemOutcome;
  reason: string | null;
  results: readonly Omit<EvalResult, "createdAt">[];
  costNanos: bigint;
  unpricedCalls: number;
}

/** By the clock of this process: deletions compare the results' time with that of theirs. */
export type EndedItem = FinishedItem & { finishedAt: Date };

export type CallCost = Pick<FinishedItem, "costNanos" | "unpricedCalls">;

/** What the worker needs. Implemented in `src/evals/store/eval_work.ts`. */
export interface EvalWork {
  /**
   * Claims a run that nobody works on, none of these and of none of these accounts; the oldest of
   * the account that had the fewest of late.
   */
  claim(except: { runs: readonly string[]; accounts: readonly number[] }): Promise<
    ClaimedRun | undefined
  >;
  /** Whether there is a run to claim beside these and those of these accounts. */
  othersWait(except: { runs: readonly string[]; accounts: readonly number[] }): Promise<boolean>;
  /** Renews this process's claims; gives the ids of the runs that it still holds. */
  renew(runIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** The next items to do, in order. */
  items(run: ClaimedRun, after: number, limit: number): Promise<EvalItem[]>;
  /** The run's state, or undefined when the claim is lost or the run erased. */
  stateOf(run: ClaimedRun): Promise<EvalState | undefined>;
  /** The stored interaction, undefined when it was erased. */
  stored(run: ClaimedRun, item: EvalItem): Promise<StoredCall | undefined>;
  /** A completed call of this run made under this request id: a process died before it was judged. */
  earlierCall(run: ClaimedRun, requestId: string): Promise<StoredCall | undefined>;
  /** Notes that a call is about to be made. */
  begin(run: ClaimedRun, item: EvalItem): Promise<void>;
  /** Counts a call that is made again, and what it cost. */
  countTry(run: ClaimedRun, item: EvalItem, spent: CallCost): Promise<void>;
  /** Adds what calls cost whose item doesn't end now: the run may end without it. */
  countCalls(
    run: ClaimedRun,
    item: EvalItem,
    calls: readonly (CallCost & { transactionId: string | null })[],
  ): Promise<void>;
  /** Stores an item's end and results once; false when the claim is lost. */
  finish(run: ClaimedRun, item: EvalItem, done: EndedItem): Promise<boolean>;
  /** Pauses a run; one that has waited for a day ends as failed with this reason. */
  pause(run: ClaimedRun, wait: { ms: number; code: ErrorCode; message: string }): Promise<void>;
  end(
    run: ClaimedRun,
    state: "done" | "failed" | "cancelled",
    error?: { code: ErrorCode; message: string },
  ): Promise<void>;
  /** Gives a run back, to be claimed at once. */
  release(run: ClaimedRun): Promise<void>;
}

/** Most runs of one account that have not ended. */
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

/** What names an item, and by it the calls that are made for it. */
type ItemKey = Pick<ClaimedRun, "evalRunId"> & Pick<EvalItem, "position">;

/** The request id of the calls that ask an item's interaction again, whichever try it is. */
export function answerRequestId({ evalRunId, position }: ItemKey): string {
  return `${evalRunId}/${position}`;
}

/** The request id of the calls that ask a judge about the item's answer. */
export function judgeRequestId(item: ItemKey, graderIndex: number): string {
  return `${answerRequestId(item)}/judge-${graderIndex}`;
}
