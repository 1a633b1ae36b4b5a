// A separate file, because only the subject's folder may import its store.
import { type FairReads, readsByAccount } from "../database/fair_reads.ts";
import type { LabelSumStore } from "./label_sums.ts";
import { createLabelSums } from "./store/label_sums.ts";
import { createUsageSums } from "./store/usage_sums.ts";
import type { UsageStore } from "./usage_sums.ts";

/** Builds the reader of stored sums by label, with accounts taking turns. */
export function createFairLabelSums(reads: FairReads): LabelSumStore {
  return readsByAccount(reads.of, createLabelSums, ["read", "slices"]);
}

/** Builds the reader of usage sums, with accounts taking turns. */
export function createFairUsage(reads: FairReads): UsageStore {
  const names = ["steps", "firstHour", "storedSteps", "erased", "groups", "values"] as const;
  return readsByAccount(reads.of, createUsageSums, names);
}
