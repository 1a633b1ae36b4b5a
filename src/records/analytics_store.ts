import type { ErasureScope, Tombstone } from "../erasure/tombstone.ts";
import type { StoredMonth } from "../erasure/retention.ts";
import type { VacuumReport, VacuumScope } from "../erasure/vacuum.ts";
import type { Queryable } from "../database/database.ts";
import type { FairReads } from "../database/fair_reads.ts";
import type { Log } from "../base/log.ts";
import type {
  BillingBasis,
  GroupedCalls,
  GroupedCallsQuery,
  InsertOptions,
  Interaction,
  InteractionQuery,
  InteractionStore,
  SettledCall,
} from "../shared/interaction.ts";
import type { CallSums } from "../shared/call_sums.ts";
import type { MediaStore } from "../shared/media.ts";
import type { Usage } from "../shared/usage.ts";
import type { LabelSumStore, LabelSumWriter } from "../usage/label_sums.ts";
import type { LabelRows } from "../usage/label_usage.ts";
import type { UsageStore } from "../usage/usage_sums.ts";
import type { Cell } from "./exported_cells.ts";
import type { InteractionRepository } from "./interaction_repository.ts";

/** What every kind of store is created with. */
export interface AnalyticsOptions {
  onDropped?: OnDropped;
  /** Schedules reads of the main database, together with those of its other readers. */
  mainReads?: FairReads;
}

/** Called with the ids of calls that were erased while in flight, and so are not written. */
export type OnDropped = (transactionIds: readonly string[]) => Promise<void>;

/**
 * The port to the store of interactions, their payloads, their media and the sums over them:
 * `ANALYTICS_DATABASE_URL`, or the main database. Nothing else names their tables or has their
 * database (tests/architecture/ports.ts). `src/records/store/analytics_store.ts` implements it for
 * PostgreSQL, server and embedded; another kind of store implements this interface.
 */
export interface AnalyticsStore
  extends AnalyticsReads, InteractionStore, AnalyticsTransaction, StoreUpkeep {
  /** Reads whose cost depends on what an account asks for; accounts take turns. */
  readonly fair: FairAnalytics;
  /** Reads of exports; accounts take turns. */
  readonly inBulk: Pick<AnalyticsReads, "readLines" | "count">;
  readonly media: MediaStore;
  readonly labelSumWriter: LabelSumWriter;
  /**
   * Whether the rows are in the main database, so that they change in one transaction with its other
   * tables. Otherwise the main database is written first, and an interrupted step is repeated. Ask
   * only where the two differ in more than one statement; otherwise use the operations below.
   */
  readonly sharesMain: boolean;
  /**
   * Changes the main database, then the rows with what that returned: in one transaction, or in two
   * if the rows are elsewhere.
   */
  afterMain<T>(
    main: (tx: Queryable) => Promise<T>,
    rows: (rows: AnalyticsTransaction, changed: T) => Promise<void>,
  ): Promise<void>;
  /**
   * Notes, in a transaction of the main database that has called `lockForWriting`, what rows in
   * another database are to become, so that they become it even if this process ends. Returns the ids
   * of the calls that were noted: those that aren't erased. Where the rows are in the main database,
   * does nothing and returns none.
   */
  noteCorrections(
    tx: Queryable,
    accountId: number,
    corrections: readonly DueCorrection[],
  ): Promise<Set<string>>;
  /**
   * Inserts the rows that `prepare` returns: in one transaction with what `prepare` writes to the main
   * database, or, if the rows are elsewhere, after it.
   */
  insertPrepared(
    rows: readonly SettledCall[],
    prepare: PrepareRows,
    options?: InsertOptions,
  ): Promise<void>;
  /** The store within a transaction of the main database; the store itself if it is elsewhere. */
  within(tx: Queryable): AnalyticsTransaction;
  /** One account's calls that have a cost or could have one, oldest first, in small batches. */
  pricedCalls(query: PricedCallQuery): AsyncGenerator<readonly PricedCall[]>;
  ensurePartitions(now: Date): Promise<void>;
  /** Erases payloads older than `limit`; undefined while another process is erasing. */
  erasePayloadsBefore(limit: Date): Promise<ErasedPartitions & { mediaRefs: number } | undefined>;
  /** Erases rows older than `limit`; undefined while another process is erasing. */
  eraseRowsBefore(limit: Date): Promise<ErasedPartitions | undefined>;
  /** Names of the tables from which the two above delete rows with this limit. */
  relationsBefore(limit: Date): Promise<string[]>;
  /** The disk space of each month, the latest first. Reads no rows. */
  partitionsInUse(): Promise<StoredMonth[]>;
  /** Whether a call was recorded in the last seconds. */
  isBusy(): Promise<boolean>;
}

/** Upkeep that the main database gets too: does nothing if the rows are in that database. */
export interface StoreUpkeep {
  /** Once this has returned, rows that the tombstone covers are no longer written. */
  addTombstone(tombstone: Tombstone): Promise<void>;
  /** Whether the tombstone is missing although there are calls as old: from an older backup. */
  hasLost(tombstone: Tombstone): Promise<boolean>;
  /**
   * Deletes the notes of calls that were erased days ago: no process can still be about to write
   * those.
   */
  sweepErased(): Promise<void>;
  /** Writes the noted corrections to their rows; several processes may do so at once. */
  finishCorrections(): Promise<void>;
  /** Continues what migrations have left to do in the background. */
  runBackfills(log: Pick<Log, "info">): Promise<void>;
  /** Rewrites files that hold erased text. */
  rewriteFiles(scope: VacuumScope): Promise<VacuumReport>;
}

/** Reads of interactions whose cost depends on what an account asks for. */
export const fairReads = [
  ...["page", "find", "texts", "totals", "sessionCalls", "sample", "groupedCalls"] as const,
  ...["cohortSums", "cohortModels", "modelsOfOutcomes", "cohortNames", "cohortCosts"] as const,
] as const;

/** The reads in `fairReads`, and the sums over all calls. */
export interface FairAnalytics extends Pick<AnalyticsReads, typeof fairReads[number]> {
  readonly usage: UsageStore;
  readonly labelRows: LabelRows;
  readonly labelSums: LabelSumStore;
}

/** Writes to the main database what goes with the rows; returns the rows as they will be stored. */
export type PrepareRows = (tx: Queryable) => Promise<readonly SettledCall[]>;

/** Reads of one account or of few rows, run at once; in `fair` accounts take turns. */
export interface AnalyticsReads extends InteractionRepository, Pick<InteractionStore, "read"> {
  /**
   * Reads the rows of `read` for an export, in batches: as lines of this form where the store
   * writes lines itself; otherwise, and without a form, as cells of all columns. Any row may be
   * either.
   */
  readLines(query: InteractionQuery, form?: LineForm): AsyncIterable<readonly ExportedLines[]>;
  /** How many rows `read` would return. */
  count(query: InteractionQuery): Promise<number>;
  /** Returns a name for the present state of the store, for `InteractionQuery.snapshot`. */
  snapshot(): Promise<string>;
  sample(query: SampleQuery): Promise<CallKey[]>;
  findCall(accountId: number, by: CallName): Promise<StoredCall | undefined>;
  /** Returns the given ids whose calls are stored and not older than `limit`. */
  idsSince(transactionIds: readonly string[], limit: Date): Promise<Set<string>>;
  idsOfRequests(requests: CallsOfRequests): Promise<string[]>;
  oldestCall(accountId: number): Promise<Date | undefined>;
  /** Returns API key → time of its latest call; keys without a call are absent. */
  lastUses(accountId: number, apiKeyIds: readonly string[]): Promise<Map<string, Date>>;
  /**
   * Sums the charges of calls since the beginning of a day until the end of its month, in
   * nano-dollars: of all calls, or of those of an app or end user, without erased ones, which no
   * longer name theirs.
   */
  chargedSince(
    accountId: number,
    by: { app?: string; userId?: string },
    since: Date,
  ): Promise<bigint>;
  /** Returns the sums of cohorts that have calls: over all calls, or over the latest. */
  cohortSums(
    accountId: number,
    cohortIds: readonly string[],
    bounds?: CallBounds,
  ): Promise<CohortCallSums[]>;
  /** Returns the sums of one cohort by model; models with the most calls come first. */
  cohortModels(
    accountId: number,
    cohortId: string,
    query: { limit: number; bounds?: CallBounds | undefined },
  ): Promise<CohortByModel>;
  /**
   * Returns the model of the call that each outcome belongs to; undefined where the cohort has
   * none.
   */
  modelsOfOutcomes(
    accountId: number,
    cohortId: string,
    outcomes: readonly OutcomeReference[],
  ): Promise<(ModelName | undefined)[]>;
  /** Returns names of cohorts from `from` on, in their order. */
  cohortNames(accountId: number, from: string, limit: number): Promise<string[]>;
  /** Returns what the latest calls of each cohort cost; zeros for a cohort without calls. */
  cohortCosts(
    accountId: number,
    cohortIds: readonly string[],
    bounds: CallBounds,
  ): Promise<CohortCosts[]>;
  /**
   * Returns sums of stored calls by the values of these labels, in no order; undefined if there are
   * more than `most` groups. Times are half-open.
   */
  groupedCalls(query: GroupedCallsQuery): Promise<GroupedCalls[] | undefined>;
  /** Returns the given ids whose calls are in the scope of an erasure. */
  matchedAmong(scope: ErasureScope, transactionIds: readonly string[]): Promise<string[]>;
  countMatched(scope: ErasureScope, transactionIds: readonly string[]): Promise<number>;
}

/**
 * How a line of an export is written, by the rules of `src/exports/row_writers.ts`: a row of CSV
 * with its CRLF, or an object of JSON with the text `before` and `after` it.
 */
export type LineForm =
  & (
    // `rawCells`: text that a spreadsheet would take for a formula is left as it is.
    | { format: "csv"; rawCells: boolean }
    // `oneLine`: line ends in payloads, where JSON may have them between tokens, become spaces.
    | { format: "json"; before: string; after: string; oneLine?: true }
  )
  & {
    /** Public names of the columns, in order; absent: all columns. Unknown names are left out. */
    columns?: readonly string[];
  };

/** Consecutive lines in UTF-8. The bytes are valid until the next lines are asked for. */
export interface WrittenLines {
  bytes: Uint8Array<ArrayBuffer>;
  rows: number;
}

/** Finished lines, or the cells of a row whose line is still to be written. */
export type ExportedLines = WrittenLines | readonly Cell[];

/** A settled call whose charge is refunded, and the charge so far. */
export interface RefundedCall {
  readonly call: Interaction;
  readonly chargedNanos: bigint;
}

/** Operations that can be part of a transaction of the main database. */
export interface AnalyticsTransaction {
  has(accountId: number, call: CallKey): Promise<boolean>;
  /**
   * Writes corrected costs; returns the ids of the calls that were corrected: those that had not
   * changed since they were read.
   */
  reprice(accountId: number, calls: readonly CorrectedCall[]): Promise<Set<string>>;
  /**
   * Sets the charge in the call's row to zero. If the call was erased, so that only its part of the
   * sums is left, subtracts `refunded` from the sums of erased calls. Safe to repeat.
   */
  clearCharge(transactionId: string, refunded?: RefundedCall): Promise<void>;
  matched(scope: ErasureScope, limit: number): Promise<CallKey[]>;
  keysOf(accountId: number, transactionIds: readonly string[]): Promise<CallKey[]>;
  idsOfRequests(requests: CallsOfRequests): Promise<string[]>;
  /** Returns the sessions of these calls that have no other call from before this time. */
  sessionsEndingWith(accountId: number, calls: readonly CallKey[], before: Date): Promise<string[]>;
  /**
   * Erases calls with payloads and media, and rejects later writes of them. Within a transaction,
   * the caller must hold the erasure lock and have noted the calls.
   */
  erase(calls: readonly CallKey[]): Promise<ErasedCalls>;
}

export interface CallKey {
  transactionId: string;
  createdAt: Date;
}

/** The calls of an endpoint that have one of these request ids, and are not older than its time. */
export interface CallsOfRequests {
  accountId: number;
  endpoint: string;
  requests: readonly { requestId: string; since: Date }[];
}

export interface ErasedCalls {
  interactions: number;
  /** Tables and partitions whose files still hold the erased text. */
  relations: string[];
}

export interface ErasedPartitions {
  /** Partitions that were dropped; their rows are not counted. */
  partitions: number;
  rows: number;
  /** Tables and partitions whose files still hold what was erased. */
  relations: string[];
}

export interface SampleQuery extends InteractionQuery {
  order: "newest" | "random";
  limit: number;
  /** Calls of this endpoint are left out. */
  exceptEndpoint?: string;
}

/**
 * Names a call by its key, or a completed call by its request id and its earliest possible time.
 */
export type CallName = CallKey | { requestId: string; completedSince: Date };

export type StoredCall =
  & Pick<Interaction, "transactionId" | "endpoint" | "dialect" | "sessionId" | "userId">
  & Pick<Interaction, "requestText" | "responseText" | "payloadTruncated" | "costNanos">
  & { status: string };

export interface CallBounds {
  since: Date | null;
  most: number;
}

export interface CohortCallSums extends CallSums {
  cohortId: string;
  firstAt: Date;
}

export interface ModelName {
  vendor: string;
  model: string;
}

export interface CohortModelSums extends CohortCallSums, ModelName {
  /** Calls that failed, were truncated or interrupted. */
  errors: bigint;
}

export interface CohortByModel {
  /** Models with the most calls come first. */
  models: CohortModelSums[];
  /** The number of calls to all models, and the time of the first; null without calls. */
  interactions: bigint;
  firstAt: Date | null;
}

/** The call that an outcome names, or else its session, as of a point in time. */
export interface OutcomeReference {
  transactionId: string | null;
  sessionId: string | null;
  /** A time, in the text form of the main database. */
  at: string;
}

export interface CohortCosts {
  cohortId: string;
  lastCallAt: Date | null;
  calls: number;
  /** How many of them have a known cost. */
  priced: number;
  costNanos: bigint;
}

/** The key, the app and the user decide which caps and budgets cover the call. */
type PricedFields =
  & Pick<Interaction, "transactionId" | "createdAt" | "accountId" | "apiKeyId" | "app" | "userId">
  & Pick<Interaction, "dialect" | "vendor" | "model" | "mode" | "costNanos">
  & Pick<Interaction, "chargedNanos" | "priceVersion" | "usageRawText">;

/** The inputs of a stored call's price. Amounts are in nano-dollars. */
export interface PricedCall extends PricedFields {
  /** `createdAt` in full precision, as the store's own text. */
  cursor: string;
  basis: BillingBasis;
  /**
   * The account is charged nothing for this call, whatever it costs: its request was charged as
   * another call.
   */
  isRefunded?: boolean;
  /**
   * What the ledger has charged for the call; absent: `chargedNanos`. They differ after a change of
   * two databases that was interrupted between them.
   */
  postedNanos?: bigint;
  /** `pricedUsageText`; null in rows that are older than the column. */
  pricedUsageText: string | null;
  /** The token columns; undefined if the call had no usage. */
  counts: Usage | undefined;
}

export interface CorrectedCall {
  call: PricedCall;
  costNanos: bigint;
  chargedNanos: bigint;
  priceVersion: string;
}

/** What a call's row is to become; an absent value stays. Nano-dollars. */
export interface DueCorrection {
  transactionId: string;
  chargedNanos: bigint;
  costNanos?: bigint;
  priceVersion?: string;
}

/** Selects calls; times are half-open. */
export interface PricedCallQuery {
  accountId: number;
  since?: Date;
  until?: Date;
  vendor?: string;
  model?: string;
  /** Only calls with this basis. */
  basis?: BillingBasis;
}
