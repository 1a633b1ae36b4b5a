import type { CohortStore } from "../../cohorts/cohort.ts";
import type { EvalStore } from "../../evals/eval.ts";
import type { ExportSource } from "../../exports/export_source.ts";
import type { InteractionRepository } from "../../records/interaction_repository.ts";
import type { UsageStore } from "../../usage/usage_sums.ts";
import { createCohorts } from "../../cohorts/store/cohorts.ts";
import type { Database } from "../../database/database.ts";
import { createEvals } from "../../evals/store/evals.ts";
import { createExportSource } from "../../exports/store/export_source.ts";
import type { FairReads } from "../../database/fair_reads.ts";
import { createInteractionRepository } from "../../records/store/interaction_repository.ts";
import { createUsageSums } from "../../usage/store/usage_sums.ts";

/**
 * Stores of calls in which accounts take turns: each asks a store of its account's turns, which
 * costs nothing to make.
 */

export function fairInteractions(reads: FairReads): InteractionRepository {
  const of = (accountId: number) => createInteractionRepository(reads.of(accountId));
  return {
    page: (query) => of(query.accountId).page(query),
    find: (accountId, ...asked) => of(accountId).find(accountId, ...asked),
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

export function fairCohorts(database: Database, reads: FairReads): CohortStore {
  const of = (accountId: number) => createCohorts(database, reads.of(accountId));
  return {
    post: (post) => of(post.accountId).post(post),
    read: (accountId, ...asked) => of(accountId).read(accountId, ...asked),
    readLatest: (accountId, ...asked) => of(accountId).readLatest(accountId, ...asked),
    list: (accountId, ...asked) => of(accountId).list(accountId, ...asked),
  };
}

/** Choosing what a run is about may read all calls of an account. */
export function fairEvals(database: Database, reads: FairReads): EvalStore {
  const evals = createEvals(database);
  return {
    ...evals,
    create: (run) => createEvals(database, reads.of(run.accountId)).create(run),
  };
}

/** `database` holds the evaluations; undefined where the calls are there too. */
export function fairSource(
  analytics: Database,
  reads: FairReads,
  database: Database | undefined,
): ExportSource {
  const { snapshot } = createExportSource(analytics, database);
  const of = (accountId: number) => createExportSource(reads.inBulk(accountId), database);
  return {
    snapshot,
    read: (query) => of(query.accountId).read(query),
    count: (query) => of(query.accountId).count(query),
  };
}
