import { priceFieldsOf } from "../pricing/table/price_words.ts";
import type { Prices } from "../pricing/table/prices.ts";

/** The prices behind a version that records name. */
export interface PriceVersion {
  version: string;
  label: string;
  model: string;
  /** The fields of `PRICES_FILE`, as JSON text. */
  fieldsText: string;
  source: string;
  checkedOn: string | null;
}

/** Past prices, for people who ask what a record's `price_version` meant. */
export interface PriceVersionStore {
  /** Stores the versions that aren't there yet. */
  keep(versions: readonly PriceVersion[]): Promise<void>;
  find(version: string): Promise<(PriceVersion & { firstSeenAt: Date }) | undefined>;
}

/**
 * Builds a job that stores the prices behind every version that records may name: the table's, the
 * operator's and those learned from vendors' lists. A version that was stored isn't sent again.
 */
export function createPriceArchive(prices: Prices, store: PriceVersionStore): () => Promise<void> {
  const recorded = new Set<string>();
  return async () => {
    const fresh = new Map(
      prices.rows("all").filter((row) => !recorded.has(row.version)).map((
        row,
      ) => [row.version, row]),
    );
    await store.keep([...fresh.values()].map((row) => ({
      version: row.version,
      label: row.label,
      model: row.model,
      fieldsText: JSON.stringify(priceFieldsOf(row)),
      source: row.source,
      checkedOn: row.checkedOn ?? null,
    })));
    for (const version of fresh.keys()) recorded.add(version);
  };
}
