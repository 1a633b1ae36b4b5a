/** Erases records that are older than the operator wants to keep them. */
export interface RetentionStore {
  /** Returns the time by the database's clock. */
  now(): Promise<Date>;
  /** Creates the partitions of this month and the two after it. */
  ensurePartitions(now: Date): Promise<void>;
  /**
   * Erases the texts of callers and models from before `limit`: payloads, their media, stored
   * responses and graders' details. Usage rows stay. Undefined when another process is doing it.
   */
  erasePayloads(limit: Date): Promise<ErasedPayloads | undefined>;
  /**
   * Erases usage rows from before `limit` with everything that belongs to them, and evaluations.
   * Undefined when another process is doing it.
   */
  eraseUsage(limit: Date): Promise<ErasedUsage | undefined>;
}

/** Calls from before these times lose their rows or their payloads. */
export interface RecordLimits {
  rowsBefore: Date | undefined;
  payloadsBefore: Date;
}

export interface ExpiredRecords {
  /** Records that were removed or lost their payload. */
  rejected: number;
  unreadableFiles: number;
}

/** The files beside a process's journal. */
export interface RejectedRetention {
  /**
   * Removes records and payloads that are older than the limits from `rejected.jsonl`, and files of
   * unreadable bytes that were saved before the limit of payloads.
   */
  expire(limits: RecordLimits): Promise<ExpiredRecords>;
}

/** One month (UTC) of what is stored, for everybody. */
export interface StoredMonth {
  /** Its first moment. */
  month: Date;
  /** Bytes of its usage rows and its payloads on disk, indexes included. */
  usageBytes: number;
  payloadBytes: number;
}

/** The months and calls that are stored. */
export interface PartitionsInUse {
  /** Lists the months, the latest first. */
  list(): Promise<StoredMonth[]>;
  /** Returns the time of an account's oldest stored call; undefined without any. */
  oldestCall(accountId: number): Promise<Date | undefined>;
}

/**
 * Counts of rows. Of dropped partitions, `partitions` counts the partitions instead of the rows.
 */
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
