import type { PriceCommands } from "../../admin/price_commands_deps.ts";
import type { Log } from "../../base/log.ts";
import { createPriceArchive } from "../../repricing/price_archive.ts";
import { every } from "../../shared/every.ts";
import type { Database } from "../../database/database.ts";
import { createPriceVersions } from "../../repricing/store/price_versions.ts";
import type { PriceVersionStore } from "../../repricing/price_archive.ts";
import { createRepricing } from "../../repricing/store/repricing.ts";
import type { Prices } from "../../pricing/table/prices.ts";
import { createAnalyticsStore } from "../../records/store/analytics_store.ts";

/** What checks prices, keeps their versions and prices calls again. */
export interface PricingServices {
  /** Prices and model lists anew from the files, for the operator's commands. */
  openPrices: () => PriceCommands;
  priceVersions: PriceVersionStore;
  /** Keeps the prices behind the versions that records name. */
  archivePrices: () => Promise<void>;
  stopArchiving: () => void;
}

/** How often prices learned from vendors' lists are looked for, to be kept. */
const archiveMs = 15_000;

export function createPricingServices(
  options: {
    database: Database;
    analytics: Database;
    log: Log;
    prices: Prices;
    openPrices: () => Omit<PriceCommands, "repricing">;
  },
): PricingServices {
  const priceVersions = createPriceVersions(options.database);
  const archivePrices = createPriceArchive(options.prices, priceVersions);
  const repricing = createRepricing(
    options.database,
    createAnalyticsStore(options.analytics, options.database),
  );
  return {
    openPrices: () => ({ ...options.openPrices(), repricing }),
    priceVersions,
    archivePrices,
    stopArchiving: every(archiveMs, archivePrices, options.log, "keep prices"),
  };
}
