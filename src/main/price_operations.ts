import { UsageError } from "../admin/command.ts";
import { priceCheck } from "../admin/price_check_command.ts";
import { repriceBy } from "../admin/reprice_command.ts";
import { OptionError } from "../administration/administration.ts";
import type { PriceCommandDeps } from "../admin/price_commands_deps.ts";
import type { AdminPriceDeps } from "../http/routes/admin_prices.ts";

/**
 * The operator's commands `reprice` and `prices check` for the API: the same functions, whose options
 * have other names.
 */
export function createPriceOperations(
  deps: PriceCommandDeps,
): Pick<AdminPriceDeps, "reprice" | "checkPrices"> {
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
