import {
  type Command,
  type CommandResult,
  done,
  listedAccountOption,
  textOption,
  type Values,
} from "./command.ts";
import { parseExactly } from "../base/exact_json.ts";
import { checkPrices } from "./price_check_command.ts";
import type { PriceCommandDeps } from "./price_commands_deps.ts";
import { repriceCalls } from "./reprice_command.ts";

/** `prices check`, `prices show` and `reprice`. */
export const priceCommands: Readonly<Record<string, Command<PriceCommandDeps>>> = {
  "prices check": {
    summary: "Shows prices that are old, missing, or differ from what vendors publish.",
    example: "prices check",
    usage: "prices check [--since T]",
    options: { since: textOption },
    run: checkPrices,
  },
  "prices show": {
    summary: "Shows the price that a record's price_version names.",
    example: "prices show VERSION",
    usage: "prices show VERSION",
    positionals: ["VERSION"],
    run: showPrice,
  },
  reprice: {
    summary: "Reprices recorded calls, and settles the differences.",
    example: "reprice --dry-run --since 2026-11-01T00:00:00Z",
    usage: "reprice [--dry-run] [--since T] [--until T] [--vendor V] [--model M] [--account A]",
    options: {
      "dry-run": { type: "boolean" },
      since: textOption,
      until: textOption,
      vendor: textOption,
      model: textOption,
      ...listedAccountOption,
    },
    run: repriceCalls,
  },
};

/** Shows the price behind the `price_version` of a record. */
async function showPrice(
  deps: PriceCommandDeps,
  _values: Values,
  [version]: readonly string[],
): Promise<CommandResult> {
  await deps.archivePrices();
  const found = await deps.priceVersions.find(version!);
  if (!found) throw new Error(`No price has the version '${version}'.`);
  const { label, model, source, checkedOn, fieldsText, firstSeenAt } = found;
  const price: unknown = parseExactly(fieldsText);
  return done({
    version: found.version,
    vendor: label,
    model,
    price,
    source,
    checked_on: checkedOn,
    first_seen_at: firstSeenAt.toISOString(),
  }, [
    `${label}/${model} ${fieldsText}`,
    `Source: ${source}${
      checkedOn === null ? "" : `, checked on ${checkedOn}`
    }; seen first at ${firstSeenAt.toISOString()}.`,
  ]);
}
