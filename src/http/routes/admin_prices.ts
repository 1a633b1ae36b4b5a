import type { z } from "zod";
import { contracts } from "../../../contracts/mod.ts";
import {
  accountFilter,
  type Administrator,
  administratorBy,
} from "../../administration/administration.ts";
import type { Clock } from "../../base/clock.ts";
import { parseExactly } from "../../base/exact_json.ts";
import type { AccountStore } from "../../keys/account.ts";
import { priceFieldsOf } from "../../pricing/table/price_words.ts";
import type { Prices } from "../../pricing/table/prices.ts";
import type { PriceVersion, PriceVersionStore } from "../../repricing/price_archive.ts";
import { Fault, OptionError } from "../../shared/fault.ts";
import type { Registry } from "../../vendors/registry.ts";
import type { Endpoints } from "../bind.ts";

/** The options of `reprice`, as on the command line. */
export interface RepriceOptions {
  dryRun: boolean;
  since?: string | undefined;
  until?: string | undefined;
  vendor?: string | undefined;
  model?: string | undefined;
  account?: string | undefined;
}

export interface AdminPriceDeps {
  accounts: Pick<AccountStore, "first" | "find">;
  registry: Registry;
  prices: Prices;
  priceVersions: Pick<PriceVersionStore, "find">;
  /** Stores the prices behind the versions that records name. */
  archivePrices: () => Promise<void>;
  /** The operator's command. Throws `OptionError`. */
  reprice: (options: RepriceOptions, by: Administrator) => Promise<{
    dry_run: boolean;
    models: Record<string, unknown>[];
    total: Record<string, unknown>;
  }>;
  /** The operator's command. Throws `OptionError`. */
  checkPrices: (options: { since?: string | undefined }) => Promise<
    z.input<NonNullable<typeof contracts.admin.checkPrices.answer>>
  >;
  clock: Clock;
}

/** Mounts current prices, prices by version, price checks and repricing. */
export function adminPriceRoutes(app: Endpoints, deps: AdminPriceDeps): void {
  const { accounts, registry, prices } = deps;
  const { admin } = contracts;
  const by = administratorBy(deps.clock);

  app.bind(admin.listPrices, ({ query: { vendor } }) => {
    const found = vendor === undefined ? undefined : registry.find(vendor);
    if (vendor !== undefined && !found) {
      const labels = registry.all.map(({ label }) => label).join(", ");
      throw new OptionError("vendor", `expected one of ${labels}, or an alias`);
    }
    const now = deps.clock.now();
    const rows = (found ? [found] : registry.all).flatMap(({ label }) =>
      prices.listed(label, now).map((row) => ({ label, row }))
    );
    return {
      data: rows.map(({ label, row }) => ({
        version: row.version,
        vendor: label,
        model: row.model,
        price: { ...priceFieldsOf(row) },
        source: row.source,
        checked_on: row.checkedOn ?? null,
      })),
    };
  });

  app.bind(admin.getPrice, async ({ params }) => {
    await deps.archivePrices();
    const found = await deps.priceVersions.find(params.version);
    if (found) return priceVersionJson(found);
    throw new Fault("price_not_found", {
      message: `No price has the version '${params.version}'.`,
    });
  });

  app.bind(admin.checkPrices, ({ body }) => deps.checkPrices(body));

  app.bind(admin.repriceCalls, async ({ caller, body }) => {
    const { dry_run: dryRun, account_id, ...options } = body;
    const owner = await accountFilter(accounts, account_id);
    const account = owner === undefined ? undefined : String(owner.id);
    return { ...await deps.reprice({ ...options, dryRun, account }, by(caller)) };
  });
}

function priceVersionJson(found: PriceVersion & { firstSeenAt: Date }) {
  return {
    version: found.version,
    vendor: found.label,
    model: found.model,
    price: parseExactly(found.fieldsText) as Record<string, unknown>,
    source: found.source,
    checked_on: found.checkedOn,
    first_seen_at: found.firstSeenAt.toISOString(),
  };
}
