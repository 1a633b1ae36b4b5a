// Apart from its user: only a subject's own folder imports its store.
import type { FairReads } from "../database/fair_reads.ts";
import { createUsageSums } from "./store/usage_sums.ts";
import type { UsageStore } from "./usage_sums.ts";

/** Sums of usage, read in the turns of their account. */
export function createFairUsage(reads: FairReads): UsageStore {
  const of = (accountId: number) => createUsageSums(reads.of(accountId));
  return {
    steps: (query) => of(query.accountId).steps(query),
    erased: (query) => of(query.accountId).erased(query),
    values: (query, ...asked) => of(query.accountId).values(query, ...asked),
  };
}
