import type { PriceCommands } from "../admin/price_commands_deps.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import { bundledPrices, createPrices, type Prices } from "../pricing/table/prices.ts";
import { parsePricesFile } from "../pricing/table/prices_file.ts";
import { createRouting, type RoutingServices } from "../routing/wire.ts";
import { messageOf } from "../shared/fault.ts";
import { Catalogue } from "../vendors/catalogue.ts";
import { createLearnedEndpoints } from "../vendors/learned_endpoints.ts";
import { createRegistry, type Registry } from "../vendors/registry.ts";
import { createUpstream } from "../vendors/upstream.ts";
import { parseVendorsFile } from "../vendors/vendors_file.ts";
import { type Config, ConfigError } from "./config.ts";

/** Limit of the client; the relay has its own limit on whole answers. */
const maxAnswerBytes = 512 * 1024 * 1024;

/** Builds the vendors, their prices and the client that calls them. Throws `ConfigError`. */
export function createVendors(config: Config, clock: Clock, log?: Log) {
  const registry = createConfiguredRegistry(config);
  const prices = createConfiguredPrices(config, registry);
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
  const catalogue = new Catalogue({ clock, upstream, prices, ...(log ? { log } : {}) });
  return { registry, prices, upstream, catalogue, learned: createLearnedEndpoints({ clock }) };
}

export type Vendors = ReturnType<typeof createVendors>;

/** Registry and prices as configured now, with their own client. Throws `ConfigError`. */
export function openPriceCommands(config: Config): Omit<PriceCommands, "repricing"> {
  const { registry, prices, catalogue, upstream } = createVendors(config, systemClock);
  return { registry, prices, catalogue, close: () => upstream.close() };
}

/** The vendors of the environment and `VENDORS_FILE`. Throws `ConfigError`. */
export function createConfiguredRegistry(config: Config): Registry {
  const path = config.vendorsFile;
  if (path === undefined) return createRegistry(config.vendors, []);
  return fromFile("VENDORS_FILE", path, () => {
    const custom = parseVendorsFile(Deno.readTextFileSync(path), config.secretFrom);
    return createRegistry(config.vendors, custom);
  });
}

/** The models of `MODELS_FILE` and of accounts. Throws `ConfigError`. */
export function createConfiguredRouting(
  { modelsFile: modelsPath }: Config,
  deps: { database: Database; registry: Registry; prices: Prices; log: Log },
): RoutingServices {
  return fromFile("MODELS_FILE", modelsPath, () => createRouting({ ...deps, modelsPath }));
}

/** The bundled prices and those of `PRICES_FILE`. Throws `ConfigError`. */
export function createConfiguredPrices(config: Config, registry: Registry): Prices {
  const path = config.pricesFile;
  return fromFile("PRICES_FILE", path, () => {
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
  });
}

/** Reports invalid contents of a file as an invalid value of the variable that names the file. */
function fromFile<T>(variable: string, path: string | undefined, make: () => T): T {
  try {
    return make();
  } catch (thrown) {
    const [reason] = messageOf(thrown).split("\n");
    throw new ConfigError(`${variable}=${path} is not valid: ${reason}`);
  }
}
