import {
  type AnalyticsOptions,
  type AnalyticsReads,
  type AnalyticsStore,
  type AnalyticsTransaction,
  type CallKey,
  type FairAnalytics,
  fairReads,
  type StoreUpkeep,
} from "../analytics_store.ts";
import { runBackfills } from "../../database/backfill.ts";
import type { Database, Queryable } from "../../database/database.ts";
import { createFairReads, type FairReads, readsByAccount } from "../../database/fair_reads.ts";
import { lockForWriting } from "../../database/erasure_lock.ts";
import { deleteBefore, unlessBusy } from "../../database/retention_lock.ts";
import { rewriteFiles } from "../../erasure/store/rewrite_files.ts";
import { sweepErased } from "../../erasure/store/tombstones.ts";
import { createLabelSums, createLabelSumWriter } from "../../usage/store/label_sums.ts";
import { createUsageSums } from "../../usage/store/usage_sums.ts";
import { takeSnapshot } from "../../database/snapshot.ts";
import { createAnalyticsWriter } from "./analytics_writer.ts";
import {
  chargedSince,
  findCall,
  hasCall,
  idsOfRequests,
  idsSince,
  isBusy,
  keysOf,
  lastUses,
  oldestCall,
  sampleCalls,
  sessionsEndingWith,
} from "./calls.ts";
import { cohortCosts, cohortNames, cohortSums } from "./cohort_calls.ts";
import { groupedCalls } from "./grouped_calls.ts";
import { cohortModels, modelsOfOutcomes } from "./cohort_models.ts";
import {
  addTombstone,
  countMatched,
  eraseAndRefuse,
  eraseCalls,
  hasLostTombstone,
  matchedAmong,
  matchedCalls,
} from "./erase.ts";
import { createInteractionRepository } from "./interaction_repository.ts";
import { listInteractions } from "./interactions_list.ts";
import { countInteractions, readInteractions } from "./interactions_read.ts";
import { readInteractionLines } from "./interaction_lines.ts";
import { createLabelRows } from "./label_days.ts";
import { createMedia } from "./media.ts";
import { ensurePartitions, eraseBefore, partitionsInUse, partitionsUntil } from "./partitions.ts";
import { clearCharge, readPricedCalls, writeCorrections } from "./repricing.ts";
import { finishCorrections, noteCorrections } from "./unfinished_corrections.ts";

/**
 * Creates the store of interactions on PostgreSQL, server or embedded, in `database`. Stored
 * responses and reasoning are in `main`, beside the accounts, wherever the rows are.
 */
export function createAnalyticsStore(
  database: Database,
  main = database,
  { onDropped, mainReads = createFairReads(main) }: AnalyticsOptions = {},
): AnalyticsStore {
  const sharesMain = main === database;
  const reads = sharesMain ? mainReads : createFairReads(database);
  const within = (tx: Queryable) => sharesMain ? changesOf(tx, (work) => work(tx)) : changes;
  const upkeep = sharesMain ? doneWithMain : upkeepOf(main, database);
  const changes: AnalyticsTransaction = {
    ...changesOf(database, (work) =>
      database.transaction(async (tx) => {
        await lockForWriting(tx);
        return await work(tx);
      })),
    erase: async (calls) => {
      // Once a call is erased, only sums are left of what it was charged.
      if (!sharesMain) await finishCorrections(main, database, calls.map(idOf));
      return await eraseAndRefuse(database, calls);
    },
  };
  return {
    ...createAnalyticsReads(database),
    ...changes,
    ...createAnalyticsWriter(database, main, onDropped),
    ...upkeep,
    fair: createFairAnalytics(reads),
    inBulk: readsByAccount(reads.inBulk, createAnalyticsReads, ["readLines", "count"]),
    media: createMedia(database),
    labelSumWriter: createLabelSumWriter(database, createLabelRows),
    sharesMain,
    within,
    async afterMain(change, changeRows) {
      if (sharesMain) {
        return await main.transaction(async (tx) => await changeRows(within(tx), await change(tx)));
      }
      await changeRows(changes, await main.transaction(change));
    },
    noteCorrections: (...args) =>
      sharesMain ? Promise.resolve(new Set()) : noteCorrections(...args),
    list: (query) => listInteractions(database, query),
    pricedCalls: (query) => readPricedCalls(database, database.kind === "embedded", query),
    ensurePartitions: (now) => ensurePartitions(database, now),
    erasePayloadsBefore: (limit) =>
      unlessBusy(async () => {
        const erased = await eraseBefore(database, "interaction_payloads", limit);
        const mediaRefs = await deleteBefore(database, "media_refs", limit);
        if (mediaRefs > 0) erased.relations.push("media");
        return { ...erased, mediaRefs };
      }),
    async eraseRowsBefore(limit) {
      // Retention leaves the sums of the rows as they are.
      await upkeep.finishCorrections();
      return await unlessBusy(() => eraseBefore(database, "interactions", limit));
    },
    relationsBefore: async (limit) => [...await partitionsUntil(database, limit), "media"],
    partitionsInUse: () => partitionsInUse(database),
    isBusy: () => isBusy(database),
  };
}

const doneWithMain: StoreUpkeep = {
  addTombstone: () => Promise.resolve(),
  hasLost: () => Promise.resolve(false),
  sweepErased: () => Promise.resolve(),
  finishCorrections: () => Promise.resolve(),
  runBackfills: () => Promise.resolve(),
  rewriteFiles: () => Promise.resolve({ rewritten: [], notRewritten: [], isAllDone: true }),
};

function upkeepOf(main: Database, database: Database): StoreUpkeep {
  return {
    addTombstone: (tombstone) => addTombstone(database, tombstone),
    hasLost: (tombstone) => hasLostTombstone(database, tombstone),
    sweepErased: () => sweepErased(database),
    finishCorrections: () => finishCorrections(main, database),
    runBackfills: (log) => runBackfills(database, log),
    rewriteFiles: (scope) => rewriteFiles(database, scope),
  };
}

function createFairAnalytics({ of }: FairReads): FairAnalytics {
  return {
    ...readsByAccount(of, createAnalyticsReads, fairReads),
    usage: readsByAccount(of, createUsageSums, [
      ...["steps", "firstHour", "storedSteps", "erased", "groups", "values"] as const,
    ]),
    labelRows: readsByAccount(of, createLabelRows, ["read"]),
    labelSums: readsByAccount(of, createLabelSums, ["read", "slices"]),
  };
}

/** Creates the reads of `database`, or of an account's own `Queryable` from `FairReads`. */
export function createAnalyticsReads(database: Queryable): AnalyticsReads {
  return {
    ...createInteractionRepository(database),
    read: (query) => readInteractions(database, query),
    readLines: (query, form) => readInteractionLines(database, query, form),
    count: (query) => countInteractions(database, query),
    snapshot: () => takeSnapshot(database),
    sample: (query) => sampleCalls(database, query),
    findCall: (...args) => findCall(database, ...args),
    idsSince: (...args) => idsSince(database, ...args),
    idsOfRequests: (requests) => idsOfRequests(database, requests),
    oldestCall: (accountId) => oldestCall(database, accountId),
    lastUses: (...args) => lastUses(database, ...args),
    chargedSince: (...args) => chargedSince(database, ...args),
    cohortSums: (...args) => cohortSums(database, ...args),
    cohortModels: (...args) => cohortModels(database, ...args),
    modelsOfOutcomes: (...args) => modelsOfOutcomes(database, ...args),
    cohortNames: (...args) => cohortNames(database, ...args),
    cohortCosts: (...args) => cohortCosts(database, ...args),
    groupedCalls: (query) => groupedCalls(database, query),
    matchedAmong: (...args) => matchedAmong(database, ...args),
    countMatched: (...args) => countMatched(database, ...args),
  };
}

/** Rows and the usage sums over them change in one transaction (`atomically`). */
function changesOf(
  database: Queryable,
  atomically: <T>(work: (tx: Queryable) => Promise<T>) => Promise<T>,
): AnalyticsTransaction {
  return {
    has: (...args) => hasCall(database, ...args),
    reprice: (...args) => atomically((tx) => writeCorrections(tx, ...args)),
    clearCharge: (...args) => atomically((tx) => clearCharge(tx, ...args)),
    matched: (...args) => matchedCalls(database, ...args),
    keysOf: (...args) => keysOf(database, ...args),
    idsOfRequests: (requests) => idsOfRequests(database, requests),
    sessionsEndingWith: (...args) => sessionsEndingWith(database, ...args),
    erase: (calls) => atomically((tx) => eraseCalls(tx, calls)),
  };
}

function idOf({ transactionId }: CallKey): string {
  return transactionId;
}
