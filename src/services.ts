import { type Clock, systemClock } from "./base/clock.ts";
import { createUuidv7 } from "./base/ids.ts";
import { createLog, type Log, stdoutLines } from "./base/log.ts";
import type { Config } from "./config.ts";
import { chat } from "./dialects/chat/mod.ts";
import type { AccountStore } from "./domain/account.ts";
import type { ApiKeyStore } from "./domain/api_key.ts";
import type { InteractionStore } from "./domain/interaction.ts";
import { createKeyRing, type KeyRing } from "./domain/key_ring.ts";
import { createMetrics, type Metrics } from "./gateway/metrics.ts";
import { createRecorder, type Recorder } from "./gateway/recorder.ts";
import { createRelay, type Relay } from "./gateway/relay.ts";
import { every } from "./jobs/every.ts";
import { createAccounts } from "./store/accounts.ts";
import { createApiKeys } from "./store/api_keys.ts";
import type { Database } from "./store/database.ts";
import { createInteractions } from "./store/interactions.ts";
import { type Catalogue, createCatalogue } from "./vendors/catalogue.ts";
import { bundledPrices, createPrices, type Prices } from "./vendors/prices.ts";
import { parsePricesFile } from "./vendors/prices_file.ts";
import { createRegistry, type Registry } from "./vendors/registry.ts";
import { createUpstream, type Upstream } from "./vendors/upstream.ts";
import { parseVendorsFile } from "./vendors/vendors_file.ts";
import { ConfigError } from "./config.ts";
import { messageOf } from "./domain/fault.ts";

/** Everything that is built once and passed on; a function takes the fields it uses. */
export interface Services {
  config: Config;
  version: string;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  newId: () => string;
  database: Database;
  accounts: AccountStore;
  apiKeys: ApiKeyStore;
  interactions: InteractionStore;
  keyRing: KeyRing;
  registry: Registry;
  prices: Prices;
  upstream: Upstream;
  catalogue: Catalogue;
  recorder: Recorder;
  relay: Relay;
  dialects: { chat: typeof chat };
  /** Resolves when calls can be taken. */
  ready: () => Promise<void>;
  /** Ends the background jobs, writes what waits and closes the store. */
  close: () => Promise<void>;
}

/** A revocation is refused everywhere within a second; this leaves room for a slow database. */
const keyWatchMs = 250;
/** Whole answers are capped by the relay; this is what the client itself tolerates. */
const maxAnswerBytes = 512 * 1024 * 1024;

/** Wires the parts together. The database is open and migrated; it is closed by `close`. */
export function createServices(
  config: Config,
  database: Database,
  version: string,
): Services {
  const clock = systemClock;
  const lines = stdoutLines();
  const log = createLog(lines.write, clock.now);
  const newId = createUuidv7(clock);
  const registry = registryOf(config);
  const prices = createPricesOf(config, registry);
  const upstream = createUpstream({
    clock,
    timeouts: {
      connectMs: config.connectTimeoutMs,
      firstByteMs: config.firstByteTimeoutMs,
      idleMs: config.idleTimeoutMs,
    },
    maxAnswerBytes,
  });
  const catalogue = createCatalogue({ clock, upstream, prices });
  const apiKeys = createApiKeys(database);
  const interactions = createInteractions(database);
  const keyRing = createKeyRing({ store: apiKeys, clock });
  const recorder = createRecorder({ store: interactions, log, pause });
  const metrics = createMetrics({
    gateway_records_waiting: {
      help: "Records of ended calls that the store has not taken yet",
      read: () => recorder.waiting,
    },
    gateway_resident_bytes: {
      help: "Resident memory of the process",
      read: () => Deno.memoryUsage().rss,
    },
  });
  const relay = createRelay({
    clock,
    newTransactionId: newId,
    prices,
    recorder,
    payloadMaxBytes: config.payloadMaxBytes,
    registry,
    catalogue,
    upstream,
    log,
  });
  // The embedded database belongs to this process alone: who changes a key evicts it here.
  const stopWatching = database.kind === "postgres"
    ? every(keyWatchMs, keyRing.refresh, log, "watch keys")
    : () => {};
  return {
    config,
    version,
    clock,
    log,
    metrics,
    newId,
    database,
    accounts: createAccounts(database),
    apiKeys,
    interactions,
    keyRing,
    registry,
    prices,
    upstream,
    catalogue,
    recorder,
    relay,
    dialects: { chat },
    ready: async () => {
      recorder.admit();
      await database.ping();
    },
    async close() {
      stopWatching();
      await recorder.drain().catch((thrown) =>
        log.error("records were lost at shutdown: the store is away", {
          waiting: recorder.waiting,
          reason: messageOf(thrown),
        })
      );
      upstream.close();
      await database.close();
      lines.flush();
    },
  };
}

function createPricesOf(config: Config, registry: Registry): Prices {
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
