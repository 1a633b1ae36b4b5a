// Apart from its user: only a subject's own folder imports its store.
import type { Database } from "../database/database.ts";
import type { FairReads } from "../database/fair_reads.ts";
import type { CohortStore } from "./cohort.ts";
import { createCohorts } from "./store/cohorts.ts";

/** Cohorts, whose calls are read in the turns of their account. */
export function createFairCohorts(database: Database, reads: FairReads): CohortStore {
  const of = (accountId: number) => createCohorts(database, reads.of(accountId));
  return {
    post: (post) => of(post.accountId).post(post),
    read: (accountId, ...asked) => of(accountId).read(accountId, ...asked),
    readLatest: (accountId, ...asked) => of(accountId).readLatest(accountId, ...asked),
    list: (accountId, ...asked) => of(accountId).list(accountId, ...asked),
  };
}
