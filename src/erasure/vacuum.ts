/** The result of a scrub, as names of tables and of other places. */
export interface VacuumReport {
  rewritten: string[];
  /** Where erased text may still be, with the reason. */
  notRewritten: string[];
  /** Whether no other scrub could rewrite more: no table was locked. */
  isAllDone: boolean;
}

export interface VacuumScope {
  /** All tables, or only those that the last deletions can have touched. */
  what: "all" | "erased";
  /** Large tables and partitions that rows were erased from. */
  touched: readonly string[];
}

/**
 * Rewrites database files, which keep erased rows until then. Implemented in
 * `src/erasure/store/vacuum.ts`.
 */
export interface VacuumStore {
  /** Returns since when files may hold erased text; undefined: no scrub is due yet. */
  due(): Promise<{ since: Date; seconds: number } | undefined>;
  /** Whether calls are coming in, whose records a scrub would make wait. */
  isBusy(): Promise<boolean>;
  scrub(what: VacuumScope["what"]): Promise<VacuumReport>;
}
