import { createSocketTurns, type SocketTurns } from "../http/sockets/socket_turns.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { createUuidv7 } from "../base/ids.ts";
import { CopyRoom } from "../base/copy_room.ts";
import { ReadAhead } from "../base/read_ahead.ts";
import type { Log, LogLines } from "../base/log.ts";
import { createProgramLog } from "./log_events.ts";
import { type BackgroundServices, createBackgroundServices } from "../background/wire.ts";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { CohortStore } from "../cohorts/cohort.ts";
import { createCohorts } from "../cohorts/store/cohorts.ts";
import { earlierNow } from "../database/from_now.ts";
import { sweepKeyCharges } from "../credit/store/spend.ts";
import { chargedInScope } from "../budgets/budget.ts";
import { type BudgetServices, createBudgets } from "../budgets/wire.ts";
import { createCredit, type CreditServices } from "../credit/wire.ts";
import type { Database } from "../database/database.ts";
import { runBackfills } from "../database/backfill.ts";
import { createFairReads } from "../database/fair_reads.ts";
import { reclaimExpired, refreshStatistics } from "../database/table_statistics.ts";
import type { Dialect } from "../dialects/kernel/dialect.ts";
import { dialects } from "../dialects/text/mod.ts";
import type { ApiKeyStore } from "../keys/api_key.ts";
import { createCallJournal } from "../records/journal/call_journal.ts";
import type { SelectableCall } from "../shared/interaction.ts";
import { TargetHealth } from "../routing/target_health.ts";
import { createKeyPools, type KeyPools } from "../vendors/key_pool.ts";
import type { Registry } from "../vendors/registry.ts";
import { vendorLabelOf } from "../vendors/shown_vendor.ts";
import { createErasureIndex } from "../erasure/erasures.ts";
import { createJournalRetentionJob, createRetentionJob } from "../erasure/retention_job.ts";
import { createRetention } from "../erasure/store/retention.ts";
import { createErasureServices, type ErasureServices } from "../erasure/wire.ts";
import { createEvalServices, type EvalServices } from "../evals/wire.ts";
import type { Exports } from "../exports/exports.ts";
import { createExportService } from "../exports/wire.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import { createIdempotencyServices } from "../idempotency/wire.ts";
import { createKeyCaches, type KeyCaches } from "../keys/wire.ts";
import { operations } from "../media/operation_kinds.ts";
import { RateLimiter } from "../rate_limits/rate_limiter.ts";
import { sweepSignIns } from "../people/store/sign_ins.ts";
import { createRateBuckets } from "../rate_limits/store/rate_buckets.ts";
import type { JournalStatus } from "../records/journal/status.ts";
import type { AnalyticsStore } from "../records/analytics_store.ts";
import { createThreadInsert } from "../records/store/write_thread.ts";
import { createRecordServices, type RecordServices } from "../records/wire.ts";
import { createStoredResponses } from "../relay/conversation/store/stored_responses.ts";
import {
  StoredResponseCache,
  waitsForOthers,
} from "../relay/conversation/stored_response_cache.ts";
import { createResponseCacheService } from "../response_cache/wire.ts";
import type { ResponseCache } from "../response_cache/response_cache.ts";
import { createPriceArchive } from "../repricing/price_archive.ts";
import type { RoutingServices } from "../routing/wire.ts";
import { createRefusals, type RefusalServices } from "../refusals/wire.ts";
import { createJobRunner } from "../shared/background_jobs.ts";
import type { Measures, Metrics } from "../shared/metrics.ts";
import { createTelemetry } from "./telemetry.ts";
import { createBackgroundJobs } from "./background_jobs.ts";
import { type Calls, createCalls } from "./calls.ts";
import type { Config } from "./config.ts";
import { closeInOrder, recoverAll, startServices } from "./lifecycle.ts";
import { createReadiness } from "./readiness.ts";
import type { LoopWatch } from "../base/loop_watch.ts";
import { Admission } from "../overload/admission.ts";
import { type LoopWork, watchLoad } from "./load.ts";
import type { Question, QuestionTerms } from "../workers/channel.ts";
import { noSiblings, onlySeat, type Siblings, type WorkerSeat } from "../workers/parent_link.ts";
import { createOperatorStores, type OperatorStores } from "./operator_stores.ts";
import { createServiceMetrics, watchJournal } from "./service_metrics.ts";
import type { OpenedStores } from "./open_stores.ts";
import { createConfiguredRouting, createVendors, type Vendors } from "./vendors.ts";
import { createLookupTurns } from "../vendors/public_agents.ts";
import { createPublicFetch } from "../vendors/public_fetch.ts";
import { createLabelSumsJob } from "../usage/label_sums.ts";
import { createWebhooks, type WebhookServices } from "../webhooks/wire.ts";
import { workerIdOf } from "../work_queue/store/claims.ts";
import { createWorkerServices, type WorkerRole } from "./worker_services.ts";

/** All services of a server, by subject. Functions take the ones they need by name. */
export interface Services extends RefusalServices {
  config: Config;
  version: string;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  newId: () => string;
  database: Database;
  /** Interactions, in `database` unless `ANALYTICS_DATABASE_URL` is set. */
  analyticsStore: AnalyticsStore;
  dialects: Readonly<Record<DialectName, Dialect>>;
  stores: OperatorStores;
  vendors: Vendors;
  keyPools: KeyPools;
  targetHealth: TargetHealth;
  routing: RoutingServices;
  keys: KeyCaches;
  credit: CreditServices;
  rateLimiter: RateLimiter;
  budgets: BudgetServices;
  webhooks: WebhookServices;
  records: RecordServices;
  storedResponses: StoredResponseCache;
  /** What WebSockets remember of their last response. */
  socketTurns: SocketTurns;
  /** Caches answers for equal calls, for callers who ask for it. */
  responseCache: ResponseCache;
  idempotency: Idempotency;
  /** Bounds what streams are read ahead of slow callers (`BODIES_IN_FLIGHT_BYTES`). */
  readAhead: ReadAhead;
  /** Bounds the copies of streams for repeats and the response cache. */
  copies: CopyRoom;
  erasure: ErasureServices;
  exports: Exports;
  cohorts: CohortStore;
  evals: EvalServices;
  background: BackgroundServices;
  calls: Calls;
  /** Admission control under load. */
  admission: Admission;
  /** Detects what blocks the event loop. */
  loopWatch: LoopWatch<LoopWork>;
  /** Stores the prices of the versions that records name. */
  archivePrices: () => Promise<void>;
  /** The state of the journals of all workers. */
  journalStatus: () => Promise<JournalStatus>;
  /** The other workers on this port. */
  siblings: Siblings;
  /** Answers the questions of the other workers. */
  answerWorkers: (question: Question, terms: QuestionTerms) => Promise<unknown>;
  /** Resolves if calls can be accepted; rejects otherwise. */
  ready: () => Promise<void>;
  /** Recovers the journal and leases of an earlier run. Part of `start`. */
  recover: () => Promise<void>;
  /** Recovers the journal and leases of an earlier run, then starts the background jobs. */
  start: () => Promise<void>;
}

/**
 * The composition root: builds each subject from the earlier ones. Cleanup is registered on `stack`,
 * which runs it in reverse order.
 */
export function createServices(
  config: Config,
  opened: OpenedStores,
  version: string,
  lines: LogLines,
  stack: AsyncDisposableStack,
  role: WorkerRole & { clock?: Clock } = { seat: onlySeat, siblings: noSiblings },
): Services {
  const core = createCore(config, opened, { lines, version, role });
  const { database, clock, log, newId, analyticsStore, vendors, telemetry, readAhead, copies } =
    core;
  const masterKey = () => Promise.resolve(core.masterKey);
  const stores = createOperatorStores({ database, clock, masterKey });
  const access = createAccess(core, stores, vendors.registry);
  const { sweepReplays, ...recording } = createRecording(core, { dialects, vendors, ...access });
  const { records, exports, erasure } = recording;
  const calling = createCalling(core, { ...access, ...recording });
  const webhooks = createConfiguredWebhooks(core, calling.targetHealth);
  const work = createWork(core, {
    ...{ dialects, ...access, ...recording, ...calling },
    ...{ registry: vendors.registry, apiKeys: stores.apiKeys },
  });
  const monitoring = createMonitoring(core, { records, exports }, [
    ...[erasure.deletionGauges, work.background.backgroundGauges, telemetry.tracing.measures],
    ...[calling.keyPools.gauges, calling.targetHealth.measures],
    ...[webhooks.webhookSender.measures, calling.budgets.budgetGauges.measures],
  ]);
  const { metrics } = monitoring;
  const archivePrices = createPriceArchive(vendors.prices, stores.priceVersions);
  const refusals = createRefusals({ database, clock, log });
  const jobs = createJobRunner(
    createBackgroundJobs({
      ...{ ...access, ...recording, ...calling, ...work, ledger: stores.ledger, archivePrices },
      ...{ webhooks, refusals, sweepReplays, metrics, metricExport: telemetry.metricExport },
      ...createHousekeeping(core),
    }),
    { log, onRun: (job, outcome) => metrics.backgroundJobRuns.inc({ job, outcome }) },
  );
  const services: Services = {
    ...{ config, version, clock, log, newId, readAhead, copies },
    ...{ database, analyticsStore, dialects, stores, vendors, webhooks, archivePrices },
    ...{ ...access, ...recording, ...calling, ...work, ...refusals, ...monitoring },
    cohorts: createCohorts(database, records.fairAnalytics),
    ...createWorkerServices({ ...core, recorder: records.recorder, erasure, metrics }),
    ready: createReadiness(async () => {
      records.recorder.admit();
      await database.ping();
    }),
    recover: () => recoverAll(core, services),
    start: () => startServices(services, jobs),
  };
  closeInOrder(stack, { ...services, telemetry }, jobs);
  return services;
}

function createCore(
  config: Config,
  opened: OpenedStores,
  { lines, version, role: { seat, siblings, clock = systemClock } }: {
    lines: LogLines;
    version: string;
    role: WorkerRole & { clock?: Clock };
  },
) {
  const log = createServiceLog(lines, clock, seat, config);
  const vendors = createVendors(config, clock, log);
  const erasureIndex = createErasureIndex(clock);
  const reads = createFairReads(opened.database);
  const analyticsStore = opened.analytics.create({
    mainReads: reads,
    onDropped: (transactionIds) => erasureIndex.dropped(transactionIds),
  });
  return {
    ...{ ...opened, analyticsStore, lines },
    /** The queue in which accounts take turns to read the main database. */
    reads,
    readAhead: new ReadAhead(config.bodiesInFlightBytes),
    // So that an account alone may hold as much as the setting, and a copy of 16 MiB.
    copies: new CopyRoom(16 * config.bodiesInFlightBytes),
    /** Which calls were erased; checked by everything that stores or caches data of a call. */
    erasureIndex,
    ...{ config, clock, log, newId: createUuidv7(clock), siblings, vendors },
    /** The queue in which host names that callers choose are looked up. */
    lookups: createLookupTurns(),
    telemetry: createTelemetry(config, {
      ...{ vendors, dialects, clock, log, version, processId: opened.processId },
      isErased: (call) => erasureIndex.covers(call),
    }),
  };
}

/** The dependencies of every subject. */
type Core = ReturnType<typeof createCore>;

/** Keys, rate limits and credit. */
function createAccess(
  { config, database, processId, clock, log, newId }: Core,
  { apiKeys, vendorKeys, ledger }: OperatorStores,
  registry: Registry,
): Pick<Services, "keys" | "credit" | "rateLimiter"> {
  const { leaseSeconds } = config;
  const store = createRateBuckets(database);
  return {
    keys: createKeyCaches({ database, apiKeys, vendorKeys, registry, clock, log }),
    credit: createCredit({ database, ledger, processId, leaseSeconds, clock, log, newId }),
    rateLimiter: new RateLimiter({
      ...{ store, clock, newId, pause, processId },
      leaseMs: leaseSeconds * 1000,
    }),
  };
}

/** Models, vendors' keys, budgets, and the calls that use them. */
function createCalling(
  core: Core,
  { keys, credit, records, storedResponses, responseCache }: Pick<
    Services,
    "keys" | "credit" | "records" | "storedResponses" | "responseCache"
  >,
): Pick<Services, "routing" | "keyPools" | "targetHealth" | "budgets" | "calls"> {
  const { config, database, vendors, clock, log, newId, readAhead, copies, lookups } = core;
  const routing = createConfiguredRouting(config, { ...vendors, database, log });
  const keyPools = createKeyPools({ vendors: vendors.registry.all, clock, log });
  const targetHealth = new TargetHealth(clock);
  const budgets = createConfiguredBudgets(core, records);
  const calls = createCalls(config, {
    ...{ dialects, storedResponses, responseCache, clock, log, newId, lookups, readAhead, copies },
    journal: createCallJournal(core.journal, core.erasureIndex.covers),
    ...{ ...vendors, routes: routing.routes, ...keys, ...credit, ...records },
    ...{ keyPools, targetHealth, ...core.telemetry, budgetHolds: budgets.budgetHolds },
  });
  return { routing, keyPools, targetHealth, budgets, calls };
}

function createConfiguredBudgets(
  { config: { leaseSeconds }, database, analyticsStore, processId, clock, log, newId }: Core,
  { flushRecords }: Pick<RecordServices, "flushRecords">,
): BudgetServices {
  const stored = chargedInScope(analyticsStore);
  return createBudgets({
    ...{ database, processId, leaseSeconds, clock, log, newId },
    chargedSince: async (accountId, ...more) => {
      await flushRecords({ timeoutMs: 10_000, accountId });
      return await stored(accountId, ...more);
    },
  });
}

function createConfiguredWebhooks(
  { config: { fetchAllowHosts: allowHosts }, lookups, database, masterKey, ...core }: Core,
  targetHealth: TargetHealth,
): WebhookServices {
  const { processId, clock, log, newId } = core;
  return createWebhooks({
    ...{ database, allowHosts, clock, log, newId },
    masterKey: () => Promise.resolve(masterKey),
    workerId: workerIdOf({ processId, run: newId() }),
    post: createPublicFetch({ clock, lookups, allowHosts }).post,
    downVendors: () => targetHealth.downVendors,
  });
}

/** Records, idempotency, exports and erasure. */
function createRecording(
  core: Core,
  { dialects, rateLimiter, vendors }: Pick<Services, "dialects" | "rateLimiter" | "vendors">,
) {
  const { config, database, reads, analyticsStore, erasureIndex, processId, journal } = core;
  const { clock, log, newId } = core;
  const { payloadMaxBytes, mediaInlineBytes, storedBytesPerDay, dataDir, exportBucket } = config;
  const { processDir } = core;
  const isErased = (call: SelectableCall) => erasureIndex.covers(call);
  const vendorLabel = vendorLabelOf(vendors.registry);
  const records = createRecordServices({
    ...{ database, analyticsStore, journal, clock, log, pause },
    insert: threadInsertOf(core),
    masterKey: core.masterKey,
    recordedForms: [...Object.values(dialects), ...Object.values(operations)],
    ...{ payloadMaxBytes, mediaInlineBytes, storedBytesPerDay },
    flushOthers: async (terms) => void await core.siblings.ask("flush", terms),
    vendorLabel,
  });
  const { flushRecords } = records;
  const storedResponses = new StoredResponseCache({
    ...{ store: createStoredResponses(database), clock, isErased },
    waits: database.kind === "embedded" ? [] : waitsForOthers({
      isShared: (accountId) => rateLimiter.isShared(accountId),
      flushOthers: (terms) => core.siblings.ask("flush", terms),
      pause,
    }),
  });
  const socketTurns = createSocketTurns({ maxChars: socketTurnsChars, isErased });
  const forget = (transactionIds: readonly string[]) => {
    storedResponses.forget(transactionIds);
    socketTurns.forget(transactionIds);
  };
  const responseCache = createResponseCacheService({ database, isErased, log });
  const { idempotency, sweepReplays } = createIdempotencyServices({
    ...{ database, analyticsStore, processId, clock, log, newId, pause, flushRecords, isErased },
    readAhead: core.readAhead,
    copies: core.copies,
  });
  const exports = createExportService({
    ...{ exportBucket, dataDir, database, analyticsStore, reads, clock, log, newId },
    workerId: workerIdOf({ processId, run: newId() }),
    vendorLabel,
  });
  const erasure = createErasureServices({
    ...{ database, analyticsStore },
    ...{ processDir, processId, clock, log, newId, erasureIndex, journal, flushRecords },
    compactOthers: async () => void await core.siblings.ask("compact"),
    ...{ storedResponses: { forget }, idempotency, exports },
    retentionUsageDays: core.config.retentionUsageDays,
  });
  return {
    socketTurns,
    ...{ records, storedResponses, responseCache, idempotency, sweepReplays, exports, erasure },
  };
}

/** Returns the function that writes records in the write thread; undefined if there is none. */
function threadInsertOf({ writeThread: thread, config, erasureIndex }: Core) {
  const { databaseUrl, analyticsDatabaseUrl } = config;
  return thread && createThreadInsert({
    thread,
    urls: { main: databaseUrl?.reveal(), analytics: analyticsDatabaseUrl?.reveal() },
    onDropped: (transactionIds) => erasureIndex.dropped(transactionIds),
  });
}

/** Limit on the UTF-16 units of conversations that WebSockets remember to continue. */
const socketTurnsChars = 32 * 1024 * 1024;

/** Evaluations and background calls. */
function createWork(
  { config, database, analyticsStore, processId, journal, clock, log, newId }: Core,
  { dialects, calls, records, rateLimiter, registry, apiKeys, ...more }:
    & Pick<Services, "dialects" | "calls" | "records" | "rateLimiter">
    & Pick<Services, "storedResponses" | "responseCache" | "idempotency">
    & { registry: Registry; apiKeys: ApiKeyStore },
): Pick<Services, "evals" | "background"> {
  const { payloadMaxBytes, mediaInlineBytes } = config;
  const { storedResponses, responseCache, idempotency } = more;
  const { relay, heavy } = calls;
  const { recorder, media, fairAnalytics } = records;
  return {
    evals: createEvalServices({
      ...{ database, analyticsStore, fairAnalytics },
      ...{ processId, clock, log, newId },
      ...{ relay, heavy, rateLimiter, apiKeys, dialects, media },
    }),
    background: createBackgroundServices({
      ...{ database, processId, journal, clock, log, newId, payloadMaxBytes, mediaInlineBytes },
      ...{ relay, heavy, apiKeys, registry, dialects, recorder },
      ...{ storedResponses, responseCache, idempotency },
      timeoutMs: config.backgroundTimeoutMs,
      perAccount: config.backgroundPerAccountMax,
    }),
  };
}

/** Metrics, admission under load, and what observes the event loop and the journal. */
function createMonitoring(
  { config, copies, journal, clock, log, lines, telemetry }: Core,
  { records, exports }: Pick<Services, "records" | "exports">,
  gauges: readonly Measures[],
): Pick<Services, "admission" | "metrics" | "loopWatch"> {
  const admission = new Admission({ maxUnderWay: config.callsInFlightMax, clock });
  const metrics = createServiceMetrics({
    ...{ admission, records, exports, copies, journal, clock, lines, gauges },
    families: telemetry.callFamilies,
  });
  watchJournal(journal, { log, metrics });
  return { admission, metrics, loopWatch: watchLoad({ admission, clock, log, metrics }) };
}

/** The work of housekeeping jobs. */
function createHousekeeping(core: Core) {
  const { config, database, analyticsStore, journal, clock, log } = core;
  const { retentionPayloadDays, retentionUsageDays } = config;
  const retention = { retentionPayloadDays, retentionUsageDays, clock, log };
  return {
    sweepKeyCharges: async () =>
      void await sweepKeyCharges(database, await earlierNow(database, clock)),
    sweepSignIns: () => sweepSignIns(database, clock.now()),
    eraseOldRecords: createRetentionJob({
      store: createRetention(database, analyticsStore),
      ...retention,
    }),
    eraseOldRejected: createJournalRetentionJob({ journal, ...retention }),
    refreshStatistics: () => refreshStatistics(database),
    reclaimExpired: () => reclaimExpired(database),
    keepLabelSums: createLabelSumsJob({
      keeper: analyticsStore.labelSumWriter,
      now: clock.now,
    }),
    finishCorrections: () => analyticsStore.finishCorrections(),
    runBackfills: async () => {
      await runBackfills(database, log);
      await analyticsStore.runBackfills(log);
    },
    isEmbedded: database.kind === "embedded",
  };
}

function createServiceLog(
  lines: LogLines,
  clock: Clock,
  seat: WorkerSeat,
  { logFormat }: Config,
): Log {
  const write: LogLines["write"] = (line, mayWait) => lines.write(line, mayWait);
  const log = createProgramLog(write, clock.now, { logFormat, seat });
  lines.onDropped?.((dropped) =>
    log.warn("log lines were dropped: standard output could not be written", { lines: dropped })
  );
  return log;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
