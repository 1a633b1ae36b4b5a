import type { ErasureScope, Tombstone } from "../erasure/tombstone.ts";
import type { StoredMonth } from "../erasure/retention.ts";
import type { Queryable } from "../database/database.ts";
import type {
  BillingBasis,
  InteractionQuery,
  InteractionStore,
  Mode,
  SettledCall,
} from "../shared/interaction.ts";
import type { Usage } from "../shared/usage.ts";
import type { InteractionRepository } from "./interaction_repository.ts";

/**
 * The port to where interactions, their payloads and their media stand: `ANALYTICS_DATABASE_URL`, or
 * the main database. Nothing else names their tables. Implemented in
 * `src/records/store/analytics_store.ts` for PostgreSQL, served and embedded; an analytics store of
 * another kind implements this interface.
 */
export interface AnalyticsStore extends AnalyticsReads, InteractionStore, AnalyticsTransaction {
  /**
   * Whether the rows stand in the main database, so that they change in one transaction with what
   * stands there. Where they don't, the main database goes first, and a step that was cut is
   * repeated.
   */
  readonly sharesMain: boolean;
  /**
   * Inserts rows as `prepare` gives them: in one transaction of the main database with what that
   * writes, or, where the rows stand elsewhere, after it.
   */
  insertPrepared(rows: readonly SettledCall[], prepare: PrepareRows): Promise<void>;
  /** The store as part of a transaction of the main database; itself where it doesn't share that. */
  within(tx: Queryable): AnalyticsTransaction;
  /** One account's calls that have a cost or could have one, oldest first, in small batches. */
  pricedCalls(query: PricedCallQuery): AsyncGenerator<readonly PricedCall[]>;
  /** From its return on, rows that the tombstone covers are not written. */
  addTombstone(tombstone: Tombstone): Promise<void>;
  /** Forgets calls that were erased some days ago: nobody writes them any more. */
  sweepErased(): Promise<void>;
  /** Creates the partitions of this month and the two after it. */
  ensurePartitions(now: Date): Promise<void>;
  /** Erases payloads of before `limit`; undefined when another process erases. */
  erasePayloadsBefore(limit: Date): Promise<ErasedPartitions & { mediaRefs: number } | undefined>;
  /** Erases rows of before `limit`; undefined when another process erases. */
  eraseRowsBefore(limit: Date): Promise<ErasedPartitions | undefined>;
  /** The disk space of each month, the latest first. No row is read. */
  partitionsInUse(): Promise<StoredMonth[]>;
}

/** Writes what belongs to rows in the main database; gives the rows as they are to be stored. */
export type PrepareRows = (tx: Queryable) => Promise<readonly SettledCall[]>;

/** Reads of one account or of few rows; `FairReads` gives each account its own. */
export interface AnalyticsReads extends InteractionRepository, Pick<InteractionStore, "read"> {
  /** How many rows `read` would give. */
  count(query: InteractionQuery): Promise<number>;
  /** Names what the store holds now, for `InteractionQuery.snapshot`. */
  snapshot(): Promise<string>;
  /** Some of the calls that a query finds, oldest first. */
  sample(query: SampleQuery): Promise<CallKey[]>;
  findCall(accountId: number, by: CallName): Promise<StoredCall | undefined>;
  /** Which of these ids name calls that are stored and not older than `limit`. */
  idsSince(transactionIds: readonly string[], limit: Date): Promise<Set<string>>;
  /** The first call of an account that is still stored. */
  oldestCall(accountId: number): Promise<Date | undefined>;
  /** API key → its latest call; keys without a call are absent. */
  lastUses(accountId: number, apiKeyIds: readonly string[]): Promise<Map<string, Date>>;
  /** Sums of cohorts that have calls: of all calls, or of the latest. */
  cohortSums(
    accountId: number,
    cohortIds: readonly string[],
    bounds?: CallBounds,
  ): Promise<CohortCallSums[]>;
  /** Names of cohorts from `from` on, in their order. */
  cohortNames(accountId: number, from: string, limit: number): Promise<string[]>;
  /** What the latest calls of each cohort cost; zeros for one without calls. */
  cohortCosts(
    accountId: number,
    cohortIds: readonly string[],
    bounds: CallBounds,
  ): Promise<CohortCosts[]>;
  /** Which of these ids name calls in the scope of an erasure. */
  matchedAmong(scope: ErasureScope, transactionIds: readonly string[]): Promise<string[]>;
  /** How many calls are in the scope of an erasure or have one of these ids. */
  countMatched(scope: ErasureScope, transactionIds: readonly string[]): Promise<number>;
}

/** What may be part of a transaction of the main database. */
export interface AnalyticsTransaction {
  has(accountId: number, call: CallKey): Promise<boolean>;
  /** Writes corrected costs; gives the ids of the calls that still were as they had been read. */
  reprice(accountId: number, calls: readonly CorrectedCall[]): Promise<Set<string>>;
  /** The call's row shows that nothing was charged. */
  clearCharge(transactionId: string): Promise<void>;
  /** Calls in the scope of an erasure, oldest first. */
  matched(scope: ErasureScope, limit: number): Promise<CallKey[]>;
  keysOf(accountId: number, transactionIds: readonly string[]): Promise<CallKey[]>;
  /**
   * Erases calls with payloads and media, and refuses them from now on. Part of a transaction it
   * expects that this holds the erasure lock and has noted the calls.
   */
  erase(calls: readonly CallKey[]): Promise<ErasedCalls>;
}

/** What a call is found by at once. */
export interface CallKey {
  transactionId: string;
  createdAt: Date;
}

export interface ErasedCalls {
  interactions: number;
  /** Tables and partitions whose files hold what was erased. */
  relations: string[];
}

export interface ErasedPartitions {
  /** Partitions that were dropped; their rows are not counted. */
  partitions: number;
  rows: number;
}

export interface SampleQuery extends InteractionQuery {
  order: "newest" | "random";
  limit: number;
  /** Calls of this endpoint are left out. */
  exceptEndpoint?: string;
}

/** A call by its key, or a completed one by its request and the earliest time that it can have. */
export type CallName = CallKey | { requestId: string; completedSince: Date };

/** What is needed of a stored call to make it again. */
export interface StoredCall {
  transactionId: string;
  dialect: string;
  status: string;
  sessionId: string | null;
  userId: string | null;
  requestText: string | null;
  responseText: string | null;
  payloadTruncated: boolean;
  /** Null when it is not known. */
  costNanos: bigint | null;
}

/** Which calls of a cohort are read. */
export interface CallBounds {
  since: Date | null;
  most: number;
}

/** Exact sums over the known values of one column. */
export interface ColumnSums {
  /** How many values are known. */
  count: bigint;
  sum: bigint;
  sumOfSquares: bigint;
}

export interface CohortCallSums {
  cohortId: string;
  interactions: bigint;
  firstAt: Date;
  completed: bigint;
  cost: ColumnSums;
  inputTokens: ColumnSums;
  outputTokens: ColumnSums;
  /** Of completed calls. */
  latency: ColumnSums;
  latencyP50: number | null;
  latencyP95: number | null;
}

export interface CohortCosts {
  cohortId: string;
  lastCallAt: Date | null;
  calls: number;
  /** Of these, those with a known cost. */
  priced: number;
  costNanos: bigint;
}

/** What a stored call was priced on. Amounts are nano-dollars. */
export interface PricedCall {
  transactionId: string;
  createdAt: Date;
  /** `createdAt` in full precision, in the store's own words. */
  cursor: string;
  accountId: number;
  /** Dialect of the caller, which decides in which one the vendor was called. */
  dialect: string;
  vendor: string;
  model: string;
  mode: Mode;
  basis: BillingBasis;
  costNanos: bigint | null;
  chargedNanos: bigint;
  priceVersion: string | null;
  /** `pricedUsageText`; null in rows from before it was kept. */
  pricedUsageText: string | null;
  usageRawText: string | null;
  /** The columns; undefined when the call had no usage. */
  counts: Usage | undefined;
}

/** A call with the cost that it should have had. */
export interface CorrectedCall {
  call: PricedCall;
  costNanos: bigint;
  chargedNanos: bigint;
  priceVersion: string;
}

/** Which calls are looked at; times are half-open. */
export interface PricedCallQuery {
  accountId: number;
  since?: Date;
  until?: Date;
  vendor?: string;
  model?: string;
  /** Only calls with this basis. */
  basis?: BillingBasis;
}
