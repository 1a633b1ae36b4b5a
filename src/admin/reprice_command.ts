import { allAccounts } from "../keys/account.ts";
import type { Actor } from "../audit/audit.ts";
import { defined } from "../base/defined.ts";
import { nanosToUsd } from "../base/money.ts";
import type { Administrator } from "../administration/administration.ts";
import type { PricedCallQuery } from "../records/analytics_store.ts";
import { createPriceArchive } from "../repricing/price_archive.ts";
import { type ModelCorrection, type ModelCorrections, reprice } from "../repricing/reprice.ts";
import { OptionError } from "../shared/fault.ts";
import { resolveTarget } from "../vendors/model_name.ts";
import type { Registry } from "../vendors/registry.ts";
import { shownVendor } from "../vendors/shown_vendor.ts";
import {
  commandLineAt,
  type CommandResult,
  done,
  findAccount,
  optional,
  timeOption,
  type Values,
} from "./command.ts";
import type { PriceCommandDeps } from "./price_commands_deps.ts";

/** What a repricing did, or would do. */
export interface RepriceResult {
  dry_run: boolean;
  models: Record<string, unknown>[];
  total: Record<string, unknown>;
}

/**
 * `reprice`: prices stored calls again from the price files as they are now, each call by the row
 * for its own time, and corrects costs and charges. With `--dry-run` it only shows the changes.
 */
export function repriceCalls(deps: PriceCommandDeps, values: Values): Promise<CommandResult> {
  return repriceBy(deps, values, commandLineAt(deps.clock));
}

/** Reprices on behalf of any administrator, with an entry in the first account's audit log. */
export async function repriceBy(
  deps: PriceCommandDeps,
  values: Values,
  { actor }: Administrator,
): Promise<CommandResult & { json: RepriceResult }> {
  const dryRun = values["dry-run"] === true;
  const commands = await deps.openPrices();
  try {
    const query = queryOf(values, commands.registry);
    const wanted = optional(values, "account");
    const named = wanted === undefined ? undefined : await findAccount(deps.accounts, wanted);
    const accounts = named ? [named] : await allAccounts(deps.accounts);
    await deps.flushRecords({ timeoutMs: Infinity, ...named ? { accountId: named.id } : {} });
    await deps.archivePrices();
    // Stores the new prices before the first record names their version.
    if (!dryRun) await createPriceArchive(commands.prices, deps.priceVersions)();
    const sums: ModelCorrections = new Map();
    const models = await reprice(
      { ...commands, store: commands.repricing },
      accounts.map(({ id }) => ({ ...query, accountId: id })),
      dryRun,
      sums,
    ).catch(async (thrown) => {
      const total = sumsJson([...sums.values()]);
      if (!dryRun && total.corrected > 0) {
        // What was corrected stays so. The store may be away, which is what is reported then.
        await note(deps, actor, total, "; then it failed").catch(() => {});
      }
      throw thrown;
    });
    models.sort((one, other) => Number(difference(other) - difference(one)));
    const total = sumsJson(models);
    if (!dryRun) await note(deps, actor, total);
    const json: RepriceResult = { dry_run: dryRun, models: models.map(modelJson), total };
    return { ...done(json, linesOf(models, dryRun)), json };
  } finally {
    await commands.close();
  }
}

async function note(
  { accounts, audit }: Pick<PriceCommandDeps, "accounts" | "audit">,
  actor: Actor,
  total: ReturnType<typeof sumsJson>,
  more = "",
): Promise<void> {
  const first = await accounts.first();
  if (!first) return;
  await audit.record({
    ...{ accountId: first.id, actor, action: "calls.repriced" },
    subject: `${total.corrected} of ${total.calls} calls`,
    detail: `cost ${total.difference_usd} USD, charged ${total.charged_difference_usd} USD${more}`,
  });
}

function queryOf(values: Values, registry: Registry): Omit<PricedCallQuery, "accountId"> {
  const since = timeOption(values, "since", "start");
  const until = timeOption(values, "until", "end");
  if (since && until && since >= until) {
    throw new OptionError("until", "expected a time after since");
  }
  const named = optional(values, "vendor");
  const vendor = named === undefined ? undefined : registry.find(named);
  if (named !== undefined && !vendor) {
    const vendors = registry.all.map(({ label }) => shownVendor(registry, label)).join(", ");
    throw new OptionError("vendor", `expected one of ${vendors}, got '${named}'`);
  }
  const model = optional(values, "model");
  const target = model === undefined ? undefined : targetOf(registry, vendor, model);
  const label = target?.vendor.label ?? vendor?.label;
  return defined({ since, until, vendor: label, model: target?.model });
}

function targetOf(registry: Registry, vendor: ReturnType<Registry["find"]>, model: string) {
  try {
    return resolveTarget(registry, vendor, model);
  } catch {
    const expected = "expected a model with its vendor, such as openai/gpt-5-mini";
    throw new OptionError("model", `${expected}, got '${model}'`);
  }
}

function modelJson(one: ModelCorrection) {
  const { vendor, model, unchanged } = one;
  return { vendor, model, ...sumsJson([one]), kept: unchanged };
}

function sumsJson(models: readonly ModelCorrection[]) {
  const sum = (of: (one: ModelCorrection) => bigint) =>
    nanosToUsd(models.reduce((total, one) => total + of(one), 0n));
  return {
    calls: models.reduce((total, one) => total + one.calls, 0),
    corrected: models.reduce((total, one) => total + one.corrected, 0),
    old_cost_usd: sum((one) => one.oldCostNanos),
    new_cost_usd: sum((one) => one.newCostNanos),
    difference_usd: sum((one) => one.newCostNanos - one.oldCostNanos),
    charged_difference_usd: sum((one) => one.chargedNanos),
  };
}

function linesOf(models: readonly ModelCorrection[], dryRun: boolean): string[] {
  const changed = models.filter(({ corrected }) => corrected > 0).map((one) => {
    const json = modelJson(one);
    return `${one.vendor}/${one.model}: ${one.corrected} of ${one.calls} calls, ${json.old_cost_usd} → ${json.new_cost_usd} USD (difference ${json.difference_usd}, charged ${json.charged_difference_usd})`;
  });
  const unchanged = models.flatMap((one) =>
    Object.entries(one.unchanged).filter(([, calls]) => calls > 0).map(([why, calls]) =>
      `${one.vendor}/${one.model}: ${calls} calls keep their cost (${why.replace("_", " ")})`
    )
  );
  const total = sumsJson(models);
  return [
    ...changed,
    ...unchanged,
    `${total.corrected} of ${total.calls} calls ${
      dryRun ? "would be" : "were"
    } corrected: ${total.old_cost_usd} → ${total.new_cost_usd} USD, difference ${total.difference_usd}, charged ${total.charged_difference_usd}.`,
    ...(dryRun
      ? ["Nothing was written; run it without --dry-run to correct costs and charges."]
      : []),
  ];
}

function difference(one: ModelCorrection): bigint {
  const change = one.newCostNanos - one.oldCostNanos;
  return change < 0n ? -change : change;
}
