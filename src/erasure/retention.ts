/** Erases records that are older than the operator wants to keep them. */
export interface RetentionStore {
  /** Makes the partitions of this month and the two after it. */
  ensurePartitions(now: Date): Promise<void>;
  /**
   * Erases what callers and models said before `limit`: payloads, their media, kept answers and
   * what graders wrote. Usage rows stay. Undefined when another process is doing it.
   */
  erasePayloads(limit: Date): Promise<ErasedPayloads | undefined>;
  /**
   * Erases usage rows of before `limit` with all that hangs on them, and evaluations.
   * Undefined when another process is doing it.
   */
  eraseUsage(limit: Date): Promise<ErasedUsage | undefined>;
}

/** What a process has beside its journal (`Journal.expire`). */
export interface RejectedRetention {
  expire(
    limits: { rowsBefore: Date | undefined; payloadsBefore: Date },
  ): Promise<{ rejected: number; unreadableFiles: number }>;
}

/** One month (UTC) of what is stored, for everybody. */
export interface StoredMonth {
  /** Its first moment. */
  month: Date;
  /** What its usage rows and its payloads take on disk, indexes included. */
  usageBytes: number;
  payloadBytes: number;
}

/** What there is to be kept or erased. */
export interface PartitionsInUse {
  /** The latest first. */
  list(): Promise<StoredMonth[]>;
  /** The first call of an account that is still stored; undefined without any. */
  oldestCall(accountId: number): Promise<Date | undefined>;
}

/** Counts of rows; rows of dropped partitions are not counted, their partitions are. */
export interface ErasedPayloads {
  partitions: number;
  payloads: number;
  mediaRefs: number;
  storedResponses: number;
  storedReasoning: number;
  evalDetails: number;
}

export interface ErasedUsage {
  partitions: number;
  interactions: number;
  evalRuns: number;
  evalResults: number;
}
