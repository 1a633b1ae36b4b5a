import type { AuditLog } from "../audit/audit.ts";
import type { FlushRecords } from "../records/flush_records.ts";
import type { Clock } from "../base/clock.ts";
import type { AccountStore } from "../keys/account.ts";
import type { RepricingStore } from "../repricing/repricing.ts";
import type { PriceVersionStore } from "../repricing/price_archive.ts";
import type { Catalogue } from "../vendors/catalogue.ts";
import type { Prices } from "../pricing/table/prices.ts";
import type { Registry } from "../vendors/registry.ts";

export interface PriceCommandDeps {
  accounts: Pick<AccountStore, "first" | "find" | "page">;
  /** Gets an entry when calls are priced again. */
  audit: Pick<AuditLog, "record">;
  clock: Clock;
  /** Reads the price files as they are now: a running server uses the prices of its start. */
  openPrices: () => PriceCommands | Promise<PriceCommands>;
  priceVersions: PriceVersionStore;
  flushRecords: FlushRecords;
  /** Stores the prices behind the versions in records, including prices learned a moment ago. */
  archivePrices: () => Promise<void>;
}

/** Prices, the vendors' model lists and the stored calls, for one command. */
export interface PriceCommands {
  registry: Registry;
  prices: Prices;
  catalogue: Catalogue;
  repricing: RepricingStore;
  /** Ends the connections that were opened for the command. */
  close: () => void | Promise<void>;
}
