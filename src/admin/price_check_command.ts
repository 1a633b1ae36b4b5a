import { allAccounts } from "../keys/account.ts";
import { nanosToUsd } from "../base/money.ts";
import {
  compareTable,
  findGaps,
  type RowComparison,
  type VendorGaps,
} from "../repricing/price_check.ts";
import {
  type VendorReportedCost,
  vendorReportedCosts,
} from "../repricing/vendor_reported_costs.ts";
import { dimensionWords, priceFieldsOf, rateWords } from "../pricing/table/price_words.ts";
import { openPublicPrices, publicPackage } from "../pricing/sources/public_prices.ts";
import { type CommandResult, done, timeOption, type Values } from "./command.ts";
import type { PriceCommandDeps } from "./price_commands_deps.ts";

/** How many days of costs reported by vendors are compared, unless `--since` is given. */
const comparedDays = 30;

/**
 * `prices check`: lists vendors' models that have no price in the table, and differences between
 * the table and the public package; compares costs that vendors reported with their list prices.
 * Findings aren't a failure: exit code 0 means that the check was made; `summary` counts findings.
 */
export async function checkPrices(deps: PriceCommandDeps, values: Values): Promise<CommandResult> {
  const { json, lines } = await priceCheck(deps, values);
  return done(json, lines);
}

/** Makes the check for the command line and for the API: `json` for both, `lines` for people. */
export async function priceCheck(deps: PriceCommandDeps, values: Values) {
  const now = deps.clock.now();
  const since = timeOption(values, "since", "start") ??
    new Date(now.getTime() - comparedDays * 86_400_000);
  const commands = await deps.openPrices();
  try {
    await deps.flushRecords({ timeoutMs: Infinity, freeOnly: true });
    await deps.archivePrices();
    const publicPrices = await openPublicPrices((label) => commands.registry.find(label)?.baseUrl);
    const vendors = await findGaps({ ...commands, publicPrices }, now);
    const table = compareTable({ ...commands, publicPrices }, now);
    const accounts = (await allAccounts(deps.accounts)).map(({ id }) => id);
    const reported = await vendorReportedCosts(
      { ...commands, store: commands.repricing },
      accounts,
      since,
    );
    const explained = table.differences.filter(({ why }) => why !== undefined);
    const open = table.differences.filter(({ why }) => why === undefined);
    const summary = {
      vendors_listed: vendors.filter(({ state }) => state === "listed").length,
      vendors_unreachable: vendors.filter(({ state }) => state === "unreachable").length,
      models_without_price: count(vendors, ({ withoutPrice }) => withoutPrice.length),
      models_at_fallback_price: count(vendors, ({ fallbackPrice }) => fallbackPrice.length),
      rows: table.rows,
      rows_compared: table.compared,
      rows_equal: table.equal,
      differences: open.length,
      explained_differences: explained.length,
    };
    const json = {
      checked_at: now.toISOString(),
      package: publicPackage,
      summary,
      vendors: vendors.map(vendorJson),
      differences: open.map(differenceJson),
      explained_differences: explained.map((one) => ({ ...differenceJson(one), why: one.why })),
      vendor_reported_costs: reported.map(reportedJson),
    };
    const lines = [
      ...vendors.flatMap(vendorLines),
      `${table.rows} rows, ${table.compared} of them in ${publicPackage}: ${table.equal} equal, ${open.length} prices differ, ${explained.length} more are explained (--json lists them).`,
      ...open.map(differenceLine),
      ...reported.map(reportedLine),
    ];
    return { json, lines };
  } finally {
    await commands.close();
  }
}

function count<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0);
}

function vendorJson(one: VendorGaps) {
  return {
    vendor: one.vendor,
    state: one.state,
    ...(one.reason === undefined ? {} : { reason: one.reason }),
    models: one.models,
    without_price: one.withoutPrice.map(({ model, publicPrice }) => ({
      model,
      public_price: publicPrice ? priceFieldsOf(publicPrice) : null,
    })),
    at_fallback_price: one.fallbackPrice,
  };
}

const states = {
  not_configured: "no key set, so its list was not read",
  unreachable: "could not be reached",
} as const;

function vendorLines(one: VendorGaps): string[] {
  if (one.state !== "listed") {
    const reason = one.reason === undefined ? "" : ` (${one.reason})`;
    return [`${one.vendor}: ${states[one.state]}${reason}.`];
  }
  const missing = one.withoutPrice.length;
  const guessed = one.fallbackPrice.length;
  return [
    `${one.vendor}: ${one.models} models listed, ${missing} without a price, ${guessed} at a fallback price.`,
    ...one.withoutPrice.map(({ model, publicPrice }) =>
      `  ${one.vendor}/${model}: no price${
        publicPrice ? `; the package has ${JSON.stringify(priceFieldsOf(publicPrice))}` : ""
      }`
    ),
  ];
}

function differenceJson({ row, at, difference }: RowComparison) {
  return {
    vendor: row.label,
    model: row.model,
    dimension: dimensionWords[difference.dimension],
    from_prompt_tokens: difference.fromTokens,
    to_prompt_tokens: difference.toTokens ?? null,
    ours: rateWords(difference.dimension, difference.ours),
    theirs: rateWords(difference.dimension, difference.theirs),
    at: at.toISOString(),
    source: row.source,
    checked_on: row.checkedOn ?? null,
  };
}

function differenceLine(one: RowComparison): string {
  const { vendor, model, dimension, ours, theirs, ...where } = differenceJson(one);
  const from = where.from_prompt_tokens === 0 ? "" : ` from ${where.from_prompt_tokens} tokens`;
  const to = where.to_prompt_tokens === null ? "" : ` to ${where.to_prompt_tokens} tokens`;
  return `  ${vendor}/${model} ${dimension}${from}${to}: ours ${ours} (${where.source}), the package ${theirs}`;
}

function reportedJson(one: VendorReportedCost) {
  return {
    vendor: one.vendor,
    model: one.model,
    calls: one.calls,
    reported_usd: nanosToUsd(one.reportedNanos),
    compared_usd: nanosToUsd(one.comparedNanos),
    list_usd: nanosToUsd(one.listNanos),
    difference_usd: nanosToUsd(one.comparedNanos - one.listNanos),
  };
}

function reportedLine(one: VendorReportedCost): string {
  const json = reportedJson(one);
  return `${one.vendor}/${one.model}: ${one.calls} calls cost ${json.reported_usd} USD as the vendor reported; the calls with a list price would cost ${json.list_usd} USD by it, difference ${json.difference_usd} USD.`;
}
