/** A grant of credit, or a correction. */
export interface CreditEntry {
  id: bigint;
  kind: "grant" | "adjust";
  /** Nano-dollars; below zero where a correction took something back. */
  nanos: bigint;
  note: string | null;
  /** The call whose charge was corrected. */
  transactionId: string | null;
  at: Date;
}

/** An account's grants and corrections. Implemented in `src/credit/store/credit_history.ts`. */
export interface CreditHistory {
  /** Lists the latest first; `before` is the last id of the previous page. */
  latest(accountId: number, limit: number, before?: bigint | null): Promise<CreditEntry[]>;
  /**
   * Lists the latest `limit` grants and the latest `limit` corrections, the latest first: a
   * repricing writes a correction for each call, behind which no grant would be among the latest.
   */
  latestOfEachKind(accountId: number, limit: number): Promise<CreditEntry[]>;
}
