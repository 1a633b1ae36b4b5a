import { type ChatRefusal, type PriceRow, validAt } from "../pricing.ts";
import { priceNames } from "./price_names.ts";
import { readPriceRow } from "./price_row.ts";
import { priceTable } from "./price_table.ts";

/** A vendor's label, and the label whose prices it uses where it has none. */
export interface PriceFamily {
  label: string;
  priceLabel?: string;
}

export interface PriceSources {
  /** Usually `bundledPrices()`. */
  bundled: readonly PriceRow[];
  /** The operator's rows (`parsePricesFile`); their labels may be aliases. */
  overrides?: readonly PriceRow[];
  /** Returns the vendor that has this label or alias; undefined when there is none. */
  familyOf: (name: string) => PriceFamily | undefined;
}

export interface Prices {
  /**
   * Returns the price of a model, named as it is sent upstream, for a request that began at `at`.
   * Names are tried as `priceNames` lists them. For each name, the operator's row comes before the
   * bundled one, which comes before the learned one; in each source, a vendor's own row comes
   * before its price family's. Fallback rows come last. Undefined when no price is known.
   */
  find(label: string, model: string, at: Date): PriceRow | undefined;
  /**
   * Returns what the vendor's chat endpoint refuses of a model. For each of its names in turn, the
   * operator's row is asked and then the bundled one; the first row that says anything counts.
   */
  chatRefuses(label: string, model: string, at: Date): readonly ChatRefusal[];
  /** All models of a vendor with a price of their own at this time, each with its best row. */
  listed(label: string, at: Date): PriceRow[];
  /** The operator's rows, then the bundled ones; with "all", the learned ones come last. */
  rows(which?: "table" | "all"): PriceRow[];
  /** Replaces what was learned from this vendor's model list. */
  learn(label: string, rows: readonly PriceRow[]): void;
}

/** Prices from all sources. Throws when an override names a vendor that doesn't exist. */
export function createPrices({ bundled, overrides = [], familyOf }: PriceSources): Prices {
  const operator = overrides.map((row) => {
    const family = familyOf(row.label);
    if (family !== undefined) return { ...row, label: family.label };
    throw new Error(`${row.label}/${row.model}: no vendor has the label or alias ${row.label}`);
  });
  refuseTwice(operator, overrides);
  const overridden = indexRows(operator);
  const table = indexRows(bundled.filter((row) => row.fallback !== true));
  const fallbacks = indexRows(bundled.filter((row) => row.fallback === true));
  const learned: RowIndex = new Map();

  const indexes = [overridden, table, learned];

  function labelsOf(name: string): string[] {
    const family = familyOf(name) ?? { label: name };
    return family.priceLabel === undefined ? [family.label] : [family.label, family.priceLabel];
  }

  function exact(labels: readonly string[], model: string, at: Date): PriceRow | undefined {
    return firstRow(indexes, labels, { model, at });
  }

  function fallback(labels: readonly string[], model: string, at: Date): PriceRow | undefined {
    return firstOf(labels, (label) => latest(fallbacks.get(label)?.get(model), at));
  }

  return {
    find(label, model, at) {
      const labels = labelsOf(label);
      const own = exact(labels, model, at);
      if (own !== undefined) return own;
      const names = priceNames(model);
      return firstOf(names, (name) => exact(labels, name, at)) ??
        firstOf([...names, anyModel], (name) => fallback(labels, name, at));
    },
    chatRefuses(label, model, at) {
      const labels = labelsOf(label);
      for (const name of priceNames(model)) {
        const quoted = firstOf(
          [overridden, table],
          (index) => firstOf(labels, (one) => latest(index.get(one)?.get(name), at)?.chatRefuses),
        );
        if (quoted !== undefined) return quoted;
      }
      return [];
    },
    listed(label, at) {
      const labels = labelsOf(label);
      const models = new Set(
        [overridden, table, learned, fallbacks].flatMap((index) =>
          labels.flatMap((each) => [...index.get(each)?.keys() ?? []])
        ),
      );
      models.delete(anyModel);
      return [...models].sort()
        .map((model) => exact(labels, model, at) ?? fallback(labels, model, at))
        .filter((row) => row !== undefined);
    },
    rows(which = "table") {
      const lists = which === "table" ? [] : [...learned.values()];
      return [...operator, ...bundled, ...lists.flatMap((list) => [...list.values()].flat())];
    },
    learn(label, rows) {
      const family = familyOf(label)?.label ?? label;
      learned.set(family, byModel(rows));
    },
  };
}

/**
 * Refuses two of the operator's rows for one model, under a label and an alias, that begin on the
 * same day: only one of them would ever be charged. `written` has the rows as the file names them.
 */
function refuseTwice(rows: readonly PriceRow[], written: readonly PriceRow[]): void {
  const names = new Map<string, string>();
  rows.forEach((row, at) => {
    const key = JSON.stringify([row.label, row.model, begin(row)]);
    const name = `${written[at]!.label}/${row.model}`;
    const other = names.get(key);
    if (other !== undefined) {
      throw new Error(`${name}: ${other} is the same model, from the same day`);
    }
    names.set(key, name);
  });
}

export function bundledPrices(): PriceRow[] {
  return priceTable.flatMap((
    { label, models, source, checked_on: checkedOn, fallback, ...fields },
  ) =>
    models.map((model) => {
      const origin = { label, model, source, checkedOn, ...fallback === true ? { fallback } : {} };
      return readPriceRow(origin, fields, `${label}/${model}`);
    })
  );
}

/** Label → model → rows in the order given. */
type RowIndex = Map<string, Map<string, PriceRow[]>>;

/** Model name of a fallback row for all models of its vendor. */
const anyModel = "*";

function indexRows(rows: readonly PriceRow[]): RowIndex {
  const labels = Map.groupBy(rows, (row) => row.label);
  return new Map([...labels].map(([label, own]) => [label, byModel(own)]));
}

function byModel(rows: readonly PriceRow[]): Map<string, PriceRow[]> {
  return Map.groupBy(rows, (row) => row.model);
}

/** Of the rows valid at this time, the one that began last; of several, the last listed. */
function latest(rows: readonly PriceRow[] | undefined, at: Date): PriceRow | undefined {
  let best: PriceRow | undefined;
  if (rows === undefined) return undefined;
  for (const row of rows) if (validAt(row, at) && begin(row) >= begin(best)) best = row;
  return best;
}

/** Plain loops, since each call looks up its price four times. */
function firstRow(
  indexes: readonly RowIndex[],
  labels: readonly string[],
  { model, at }: { model: string; at: Date },
): PriceRow | undefined {
  for (const index of indexes) {
    for (const label of labels) {
      const row = latest(index.get(label)?.get(model), at);
      if (row !== undefined) return row;
    }
  }
  return undefined;
}

function begin(row: PriceRow | undefined): number {
  return row?.validFrom?.getTime() ?? -Infinity;
}

function firstOf<Item, Found>(
  items: readonly Item[],
  find: (item: Item) => Found | undefined,
): Found | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
