import { UsageError } from "../admin/command.ts";
import { priceCheck } from "../admin/price_check_command.ts";
import { repriceBy } from "../admin/reprice_command.ts";
import { OptionError } from "../administration/administration.ts";
import type { AdminPriceDeps } from "../http/routes/admin_prices.ts";
import { createRepricing } from "../repricing/store/repricing.ts";
import type { Services } from "./application.ts";
import { openPriceCommands } from "./vendors.ts";

/**
 * The operator's commands `reprice` and `prices check` for the API: the same functions, whose options
 * have other names.
 */
export function createPriceOperations(
  services: Services,
): Pick<AdminPriceDeps, "reprice" | "checkPrices"> {
  const { config, database, analyticsStore, clock, stores, records, archivePrices } = services;
  const deps = {
    ...{ accounts: stores.accounts, audit: stores.audit, priceVersions: stores.priceVersions },
    ...{ clock, archivePrices, flushRecords: records.flushRecords },
    openPrices: () => ({
      ...openPriceCommands(config),
      repricing: createRepricing(database, analyticsStore),
    }),
  };
  return {
    reprice: ({ dryRun, ...values }, by) =>
      naming(async () => (await repriceBy(deps, { ...values, "dry-run": dryRun }, by)).json),
    checkPrices: (options) => naming(async () => (await priceCheck(deps, options)).json),
  };
}

async function naming<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown;
    throw optionError(thrown.message);
  }
}

/** `--until: expected …` and `--vendor x: expected …` name their option. */
function optionError(message: string): OptionError {
  const [head = ""] = message.split(":", 1);
  const [field = ""] = head.replace("--", "").split(" ", 1);
  return new OptionError(field.replaceAll("-", "_"), message.slice(head.length + 2));
}
