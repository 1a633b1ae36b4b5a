import { UsageError } from "../admin/command.ts";
import { priceCheck } from "../admin/price_check_command.ts";
import { repriceBy } from "../admin/reprice_command.ts";
import { OptionError } from "../administration/administration.ts";
import type { PriceCommandDeps } from "../admin/price_commands_deps.ts";
import type { AdminPriceDeps } from "../http/routes/admin_prices.ts";
import { rethrowing } from "../shared/fault.ts";

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

function naming<T>(run: () => Promise<T>): Promise<T> {
  return rethrowing(UsageError, optionError, run);
}

/** `--until: expected …` and `--vendor x: expected …` name their option. */
function optionError({ message }: UsageError): OptionError {
  const [head = ""] = message.split(":", 1);
  const [field = ""] = head.replace("--", "").split(" ", 1);
  return new OptionError(field.replaceAll("-", "_"), message.slice(head.length + 2));
}
