/** What a scrub did: names of tables and of other places. */
export interface VacuumReport {
  rewritten: string[];
  /** Where erased text may still be, with the reason. */
  notRewritten: string[];
}

/** Rewrites files, which hold erased rows until then. Implemented in `src/erasure/store/vacuum.ts`. */
export interface VacuumStore {
  /** Since when erased text may be in files; undefined: nothing was erased since the last scrub. */
  due(): Promise<{ since: Date; seconds: number; isBusy: boolean } | undefined>;
  /** Rewrites all tables, or only what the last deletions can have touched. */
  scrub(what: "all" | "erased"): Promise<VacuumReport>;
}
