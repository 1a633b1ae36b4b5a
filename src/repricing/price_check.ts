import { Fault, messageOf } from "../shared/fault.ts";
import { type PriceRow, validAt } from "../pricing/pricing.ts";
import type { Catalogue } from "../vendors/catalogue.ts";
import { discrepancyOf } from "../pricing/sources/known_discrepancies.ts";
import { compareRows, type PriceDifference } from "../pricing/sources/price_comparison.ts";
import type { Prices } from "../pricing/table/prices.ts";
import { operatorSource } from "../pricing/table/prices_file.ts";
import type { PublicPrices } from "../pricing/sources/public_prices.ts";
import type { Registry, Vendor } from "../vendors/registry.ts";

export interface VendorGaps {
  vendor: string;
  state: "listed" | "not_configured" | "unreachable";
  /** Why it could not be asked. */
  reason?: string;
  models: number;
  /** Listed models without a price, each with that of the public package where it has one. */
  withoutPrice: { model: string; publicPrice: PriceRow | undefined }[];
  /** Listed models with nothing but a fallback price. */
  fallbackPrice: string[];
}

export interface RowComparison {
  row: PriceRow;
  at: Date;
  difference: PriceDifference;
  /** Why the difference is intended; undefined: unexplained. */
  why: string | undefined;
}

export interface TableComparison {
  /** Rows that are or will be in force; `compared` counts those that the package has too. */
  rows: number;
  compared: number;
  equal: number;
  differences: RowComparison[];
}

/** Asks every vendor for its models; `state` says which vendors couldn't be asked. */
export async function findGaps(
  parts: { registry: Registry; prices: Prices; catalogue: Catalogue; publicPrices: PublicPrices },
  now: Date,
): Promise<VendorGaps[]> {
  return await Promise.all(parts.registry.all.map(async (vendor): Promise<VendorGaps> => {
    const none = { vendor: vendor.label, models: 0, withoutPrice: [], fallbackPrice: [] };
    try {
      const models = await parts.catalogue.models(vendor);
      return gapsOf(parts, vendor, models.map(({ id }) => id), now);
    } catch (thrown) {
      const isMissing = thrown instanceof Fault && thrown.code === "vendor_not_configured";
      return isMissing
        ? { ...none, state: "not_configured" }
        : { ...none, state: "unreachable", reason: messageOf(thrown).split("\n")[0]! };
    }
  }));
}

/** Compares the operator's and the bundled rows that are or will be in force with the package. */
export function compareTable(
  parts: { prices: Prices; publicPrices: PublicPrices },
  now: Date,
): TableComparison {
  const result: TableComparison = { rows: 0, compared: 0, equal: 0, differences: [] };
  for (const { row, at } of rowsInForce(parts.prices.rows(), now)) {
    result.rows++;
    const theirs = parts.publicPrices.find(row.label, row.model, at);
    if (!theirs) continue;
    result.compared++;
    const differences = compareRows(row, theirs);
    if (differences.length === 0) result.equal++;
    for (const difference of differences) {
      const why = discrepancyOf(row, difference)?.why;
      result.differences.push({ row, at, difference, why });
    }
  }
  return result;
}

function gapsOf(
  { prices, publicPrices }: { prices: Prices; publicPrices: PublicPrices },
  vendor: Vendor,
  models: readonly string[],
  now: Date,
): VendorGaps {
  const priced = models.map((model) => ({ model, row: prices.find(vendor.label, model, now) }));
  return {
    vendor: vendor.label,
    state: "listed",
    models: models.length,
    withoutPrice: priced.filter(({ row }) => !row).map(({ model }) => ({
      model,
      publicPrice: publicPrices.find(vendor.label, model, now),
    })),
    fallbackPrice: priced.filter(({ row }) => row?.fallback === true).map(({ model }) => model),
  };
}

/**
 * Returns each row that is or will be in force, with a time at which it is; an operator's row hides
 * the bundled one.
 */
function rowsInForce(rows: readonly PriceRow[], now: Date): { row: PriceRow; at: Date }[] {
  const models = Map.groupBy(
    rows.filter((row) => row.model !== "*"),
    (row) => `${row.label}/${row.model}`,
  );
  return [...models.values()].flatMap((own) =>
    own.flatMap((row) => {
      const at = row.validFrom && row.validFrom > now ? row.validFrom : now;
      const hidden = row.source !== operatorSource &&
        own.some((other) => other.source === operatorSource && validAt(other, at));
      return validAt(row, at) && !hidden ? [{ row, at }] : [];
    })
  );
}
