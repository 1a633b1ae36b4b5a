// A file of its own: only the subject's folder may import its store.
import type { FairReads } from "../database/fair_reads.ts";
import type { LabelSumStore } from "./label_sums.ts";
import { createLabelSums } from "./store/label_sums.ts";
import { createUsageSums } from "./store/usage_sums.ts";
import type { UsageStore } from "./usage_sums.ts";

/** Sums by label that are kept, read in turns by account. */
export function createFairLabelSums(reads: FairReads): LabelSumStore {
  return {
    read: (of, ...args) => createLabelSums(reads.of(of.accountId)).read(of, ...args),
    slices: (of, ...args) => createLabelSums(reads.of(of.accountId)).slices(of, ...args),
  };
}

/** Usage sums, read in turns by account. */
export function createFairUsage(reads: FairReads): UsageStore {
  const of = (accountId: number) => createUsageSums(reads.of(accountId));
  return {
    steps: (query, ...args) => of(query.accountId).steps(query, ...args),
    firstHour: (accountId) => of(accountId).firstHour(accountId),
    storedSteps: (query) => of(query.accountId).storedSteps(query),
    erased: (query) => of(query.accountId).erased(query),
    groups: (query, ...args) => of(query.accountId).groups(query, ...args),
    values: (query, ...args) => of(query.accountId).values(query, ...args),
  };
}
