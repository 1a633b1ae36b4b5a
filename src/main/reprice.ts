import { UsageError } from "../admin/command.ts";
import { repriceBy } from "../admin/reprice_command.ts";
import { OptionError } from "../administration/administration.ts";
import type { AdminPriceDeps } from "../http/routes/admin_prices.ts";
import { createRepricing } from "../repricing/store/repricing.ts";
import type { Services } from "./application.ts";
import { openPriceCommands } from "./vendors.ts";

/** The operator's command `reprice` for the API: one function, whose options have other names. */
export function createReprice(services: Services): AdminPriceDeps["reprice"] {
  const { config, database, analyticsStore, clock, stores, records, archivePrices } = services;
  const deps = {
    ...{ accounts: stores.accounts, audit: stores.audit, priceVersions: stores.priceVersions },
    ...{ clock, archivePrices, flushRecords: records.flushRecords },
    openPrices: () => ({
      ...openPriceCommands(config),
      repricing: createRepricing(database, analyticsStore),
    }),
  };
  return async ({ dryRun, ...values }, by) => {
    try {
      return (await repriceBy(deps, { ...values, "dry-run": dryRun }, by)).json;
    } catch (thrown) {
      if (!(thrown instanceof UsageError)) throw thrown;
      throw optionError(thrown.message);
    }
  };
}

/** `--until: expected …` and `--vendor x: expected …` name their option. */
function optionError(message: string): OptionError {
  const [head = ""] = message.split(":", 1);
  const [field = ""] = head.replace("--", "").split(" ", 1);
  return new OptionError(field.replaceAll("-", "_"), message.slice(head.length + 2));
}
