import { type Clock, systemClock } from "../base/clock.ts";
import { createUuidv7 } from "../base/ids.ts";
import { createLog, type Log, type LogLines, stdoutLines } from "../base/log.ts";
import { type Config, ConfigError } from "./config.ts";
import { chat } from "../dialects/text/chat/mod.ts";
import { generate } from "../dialects/text/generate/mod.ts";
import { messages } from "../dialects/text/messages/mod.ts";
import { operations } from "../media/operation_kinds.ts";
import { responses } from "../dialects/text/responses/mod.ts";
import type { AccountStore } from "../keys/account.ts";
import type { ApiKeyStore } from "../keys/api_key.ts";
import type { FullDialect } from "../dialects/kernel/translator.ts";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import { beatMs } from "../rate_limits/rate_limit.ts";
import { createRateLimiter, type RateLimiter } from "../rate_limits/rate_limiter.ts";
import { createKeyCache, type KeyCache } from "../keys/key_cache.ts";
import type { Metrics } from "../shared/metrics.ts";
import { createVendorKeyCache, type VendorKeyCache } from "../keys/vendor_key_cache.ts";
import type { CohortStore } from "../cohorts/cohort.ts";
import { wireWorkers, type Workers } from "./wiring/background.ts";
import { fairCohorts } from "./wiring/fair_stores.ts";
import type { VendorKeyStore } from "../keys/vendor_key.ts";
import type { MasterKeySource } from "../keys/store/master_key.ts";
import { createVendorKeys } from "../keys/store/vendor_keys.ts";
import { every } from "../shared/every.ts";
import { createRecordServices, type RecordServices } from "./wiring/records.ts";
import { createAccounts } from "../keys/store/accounts.ts";
import { createApiKeys, usableHashes } from "../keys/store/api_keys.ts";
import { createRateBuckets } from "../rate_limits/store/rate_buckets.ts";
import type { Database } from "../database/database.ts";
import type { Journal } from "../records/journal/journal.ts";
import { createPricingServices, type PricingServices } from "./wiring/pricing.ts";
import type { PriceCommands } from "../admin/price_commands_deps.ts";
import type { JournalStatus } from "../records/journal/status.ts";
import { createServiceMetrics, journalStatusOf, watchJournal } from "./wiring/journal_watch.ts";
import { type Catalogue, createCatalogue } from "../vendors/catalogue.ts";
import { bundledPrices, createPrices, type Prices } from "../pricing/table/prices.ts";
import { parsePricesFile } from "../pricing/table/prices_file.ts";
import { createLearnedEndpoints } from "../vendors/learned_endpoints.ts";
import { createRegistry, type Registry } from "../vendors/registry.ts";
import { createUpstream, type Upstream } from "../vendors/upstream.ts";
import { parseVendorsFile } from "../vendors/vendors_file.ts";
import { messageOf } from "../shared/fault.ts";
import { admissionOf, type Load, watchLoad } from "./wiring/load.ts";
import { type Calls, createCalls } from "./wiring/calls.ts";
import { createRecording, type Recording } from "./wiring/recording.ts";

/** Everything that is built once and passed on; a function takes the fields it uses. */
export interface Services
  extends
    Omit<PricingServices, "stopArchiving">,
    Omit<Recording, "stopJobs">,
    RecordServices,
    Load,
    Calls,
    Omit<Workers, "startWorkers" | "closeWorkers"> {
  config: Config;
  version: string;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  newId: () => string;
  database: Database;
  accounts: AccountStore;
  apiKeys: ApiKeyStore;
  cohorts: CohortStore;
  keyCache: KeyCache;
  vendorKeys: VendorKeyStore;
  /** Stored vendor keys in memory. */
  storedKeys: VendorKeyCache;
  registry: Registry;
  prices: Prices;
  upstream: Upstream;
  catalogue: Catalogue;
  rateLimiter: RateLimiter;
  dialects: Readonly<Record<DialectName, FullDialect>>;
  journalStatus: () => Promise<JournalStatus>;
  /** Resolves when calls can be taken. */
  ready: () => Promise<void>;
  /** Ends the background jobs, writes what waits and closes the store. */
  close: () => Promise<void>;
}

/** A revocation is refused everywhere within a second; this leaves room for a slow database. */
const keyWatchMs = 250;
/** Whole answers are capped by the relay; this is what the client itself tolerates. */
const maxAnswerBytes = 512 * 1024 * 1024;

/** What the process owns and the parts are built on; `Services.close` closes it. */
export interface Opened {
  /** Migrated. */
  database: Database;
  /** Migrated; the same one unless it is configured. */
  analytics: Database;
  masterKey: MasterKeySource;
  journal: Journal;
  /** Names this process's leases over restarts. */
  processId: string;
}

/** Wires the parts together. */
export function createServices(
  config: Config,
  opened: Opened,
  version: string,
  lines: LogLines = stdoutLines(),
): Services {
  const { database, journal } = opened;
  const clock = systemClock;
  const log = createLog((line) => lines.write(line), clock.now);
  lines.watch?.((dropped) =>
    log.warn("nobody read the log for a while: lines were dropped", { lines: dropped })
  );
  const newId = createUuidv7(clock);
  const vendors = vendorParts(config, clock);
  const apiKeys = createApiKeys(database);
  const keys = keyParts(opened, { apiKeys, registry: vendors.registry, clock, log });
  const dialects = { chat, responses, messages, generate };
  const { stopUpkeep, ...records } = createRecordServices({ config, ...opened, clock, log });
  const recordedForms = [...Object.values(dialects), ...Object.values(operations)];
  const { stopJobs, ...recording } = createRecording(
    { config, ...opened, ...records, recordedForms, clock, log, newId, pause },
  );
  const rateLimiter = rateLimiterOf(config, database, clock, newId);
  const calls = { clock, dialects, journal, log, ...recording, ...keys, ...vendors };
  const relayed = createCalls(config, calls, newId);
  const callParts = { clock, newId, log, rateLimiter, apiKeys, dialects, ...relayed, ...records };
  const workParts = { ...calls, ...callParts, pause };
  const { startWorkers, closeWorkers, ...workers } = wireWorkers(config, opened, workParts);
  const admission = admissionOf(config, clock);
  const shown = { ...recording, ...workers };
  const metrics = createServiceMetrics({ ...shown, journal, clock, lines, admission });
  const loopWatch = watchLoad({ admission, clock, log, metrics });
  watchJournal(journal, { log, metrics });
  const stopRates = every(beatMs, () => rateLimiter.tick(), log, "rate leases");
  const { stopArchiving, ...pricing } = pricingParts(config, opened, vendors.prices, log);
  const stopWatching = watchChanges(database, keys, log);
  const stopLoop = () => loopWatch.stop();
  const jobs = [stopRates, stopWatching, stopArchiving, stopJobs, stopUpkeep, stopLoop];
  const owned = { rateLimiter, upstream: vendors.upstream, closeWorkers };
  return {
    config,
    version,
    clock,
    log,
    metrics,
    admission,
    loopWatch,
    newId,
    database,
    accounts: createAccounts(database),
    apiKeys,
    ...recording,
    cohorts: fairCohorts(database, records.reads),
    ...workers,
    recover: () => recording.recover().then(startWorkers),
    ...records,
    ...keys,
    ...vendors,
    ...pricing,
    rateLimiter,
    ...relayed,
    dialects,
    journalStatus: () => journalStatusOf({ config, journal, recorder: recording.recorder }),
    ready: async () => {
      recording.recorder.admit();
      await database.ping();
    },
    close: () => closeAll({ log, lines, ...opened, ...recording, ...owned }, jobs),
  };
}

/** Service keys and stored vendor keys, as stored and in memory. */
function keyParts(
  { database, masterKey }: Opened,
  { apiKeys, registry, clock, log }: {
    apiKeys: ApiKeyStore;
    registry: Registry;
    clock: Clock;
    log: Log;
  },
): Pick<Services, "keyCache" | "vendorKeys" | "storedKeys"> {
  const vendorKeys = createVendorKeys(database, () => Promise.resolve(masterKey));
  return {
    keyCache: createKeyCache({
      store: apiKeys,
      clock,
      usableHashes: () => usableHashes(database),
    }),
    vendorKeys,
    storedKeys: createVendorKeyCache({ store: vendorKeys, registry, log }),
  };
}

function rateLimiterOf(
  { leaseSeconds }: Config,
  database: Database,
  clock: Clock,
  newId: () => string,
): RateLimiter {
  const store = createRateBuckets(database);
  return createRateLimiter({ store, clock, newId, leaseMs: leaseSeconds * 1000, pause });
}

/** Ends the jobs, writes what waits and closes what was opened, in that order. */
async function closeAll(
  deps:
    & Pick<Services, "log" | "database" | "recorder" | "idempotency" | "reservations">
    & Pick<Services, "rateLimiter" | "upstream" | "closeDeletions" | "closeExports">
    & Pick<Opened, "journal" | "analytics">
    & Pick<Workers, "closeWorkers">
    & { lines: LogLines },
  jobs: readonly (() => void)[],
): Promise<void> {
  const { log, recorder } = deps;
  for (const stop of jobs) stop();
  await deps.closeWorkers();
  await deps.closeDeletions();
  await deps.closeExports();
  await deps.idempotency.drain();
  await recorder.drain().catch((thrown) =>
    log.warn("the store is away at shutdown: the journal keeps what waits for the next start", {
      waiting: recorder.waiting,
      reason: messageOf(thrown),
    })
  );
  await deps.reservations.close();
  await deps.rateLimiter.close();
  recorder.close();
  await deps.journal.close();
  deps.upstream.close();
  await deps.database.close();
  if (deps.analytics !== deps.database) await deps.analytics.close();
  await deps.lines.flush();
}

/** Other processes' changes of keys are looked for; the result ends that. */
function watchChanges(
  database: Database,
  rings: { keyCache: KeyCache; storedKeys: VendorKeyCache },
  log: Log,
): () => void {
  // The embedded database belongs to this process alone: who changes a key tells the rings.
  if (database.kind === "embedded") return () => {};
  const watches = [
    every(keyWatchMs, () => rings.keyCache.refresh(), log, "watch keys"),
    every(keyWatchMs, () => rings.storedKeys.refresh(), log, "watch vendor keys"),
  ];
  return () => watches.forEach((stop) => stop());
}

function pricingParts(config: Config, opened: Opened, prices: Prices, log: Log): PricingServices {
  return createPricingServices({
    ...opened,
    log,
    prices,
    openPrices: () => openPriceCommands(config),
  });
}

/** Prices as the files say now, with a client of their own. Throws `ConfigError`. */
export function openPriceCommands(config: Config): Omit<PriceCommands, "repricing"> {
  const { upstream, ...commands } = vendorParts(config, systemClock);
  return { ...commands, close: () => upstream.close() };
}

/** What the vendors' floor is made of. */
function vendorParts(config: Config, clock: Clock) {
  const registry = registryOf(config);
  const prices = pricesOf(config, registry);
  const upstream = createUpstream({
    clock,
    timeouts: {
      connectMs: config.connectTimeoutMs,
      firstByteMs: config.firstByteTimeoutMs,
      idleMs: config.idleTimeoutMs,
    },
    maxAnswerBytes,
    maxConnectionsPerHost: config.callsInFlightMax,
  });
  const catalogue = createCatalogue({ clock, upstream, prices });
  return { registry, prices, upstream, catalogue, learned: createLearnedEndpoints() };
}

function pricesOf(config: Config, registry: Registry): Prices {
  const path = config.pricesFile;
  try {
    const overrides = path === undefined ? [] : parsePricesFile(Deno.readTextFileSync(path));
    return createPrices({
      bundled: bundledPrices(),
      overrides,
      familyOf: (name) => {
        const vendor = registry.find(name);
        return vendor && {
          label: vendor.label,
          ...(vendor.sharesWith === vendor.label ? {} : { priceLabel: vendor.sharesWith }),
        };
      },
    });
  } catch (thrown) {
    throw new ConfigError(`PRICES_FILE=${path} is not valid: ${oneLine(thrown)}`);
  }
}

/** The vendors as the environment and `VENDORS_FILE` say. Throws `ConfigError`. */
export function registryOf(config: Config): Registry {
  const path = config.vendorsFile;
  if (path === undefined) return createRegistry(config.vendors, []);
  try {
    const custom = parseVendorsFile(Deno.readTextFileSync(path), config.secretFrom);
    return createRegistry(config.vendors, custom);
  } catch (thrown) {
    throw new ConfigError(`VENDORS_FILE=${path} is not valid: ${oneLine(thrown)}`);
  }
}

function oneLine(thrown: unknown): string {
  return messageOf(thrown).split("\n")[0]!;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
