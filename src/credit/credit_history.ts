/** A grant of credit, or a correction. */
export interface CreditEntry {
  id: bigint;
  kind: "grant" | "adjust";
  /** Nano-dollars; below zero where a correction took something back. */
  nanos: bigint;
  note: string | null;
  at: Date;
}

/** How an account came by its credit. Implemented in `src/credit/store/credit_history.ts`. */
export interface CreditHistory {
  /** The latest first; `before` is the id of the last one of the page before. */
  latest(accountId: number, limit: number, before?: bigint | null): Promise<CreditEntry[]>;
}
