import type { ExportSource } from "../../exports/export_source.ts";
import type { AnalyticsReads, AnalyticsStore } from "../../records/analytics_store.ts";
import type { UsageStore } from "../../usage/usage_sums.ts";
import type { Database } from "../../database/database.ts";
import { createExportSource } from "../../exports/store/export_source.ts";
import type { FairReads } from "../../database/fair_reads.ts";
import { createAnalyticsReads } from "../../records/store/analytics_store.ts";
import { createUsageSums } from "../../usage/store/usage_sums.ts";

/**
 * Stores of calls in which accounts take turns: each asks a store of its account's turns, which
 * costs nothing to make.
 */

/** Reads of interactions that accounts choose. */
export function fairAnalytics(
  reads: FairReads,
): Pick<
  AnalyticsReads,
  "page" | "find" | "sample" | "cohortSums" | "cohortNames" | "cohortCosts"
> {
  const of = (accountId: number) => createAnalyticsReads(reads.of(accountId));
  return {
    page: (query) => of(query.accountId).page(query),
    find: (accountId, ...asked) => of(accountId).find(accountId, ...asked),
    sample: (query) => of(query.accountId).sample(query),
    cohortSums: (accountId, ...asked) => of(accountId).cohortSums(accountId, ...asked),
    cohortNames: (accountId, ...asked) => of(accountId).cohortNames(accountId, ...asked),
    cohortCosts: (accountId, ...asked) => of(accountId).cohortCosts(accountId, ...asked),
  };
}

export function fairUsage(reads: FairReads): UsageStore {
  const of = (accountId: number) => createUsageSums(reads.of(accountId));
  return {
    steps: (query) => of(query.accountId).steps(query),
    erased: (query) => of(query.accountId).erased(query),
    values: (query, ...asked) => of(query.accountId).values(query, ...asked),
  };
}

/** What exports read, in bulk; `database` holds the evaluations. */
export function fairSource(
  analytics: AnalyticsStore,
  reads: FairReads,
  database: Database,
): ExportSource {
  const { sharesMain } = analytics;
  const of = (accountId: number) =>
    createExportSource({
      analytics: createAnalyticsReads(reads.inBulk(accountId)),
      evals: sharesMain ? reads.inBulk(accountId) : database,
      sharesMain,
    });
  return {
    snapshot: createExportSource({ analytics, evals: database, sharesMain }).snapshot,
    read: (query) => of(query.accountId).read(query),
    count: (query) => of(query.accountId).count(query),
  };
}
