import { withoutEnd } from "../../base/trim.ts";
import type { Fraction, PriceRow, Rates } from "../pricing.ts";
import { dayMs } from "../../shared/time_span.ts";
import { type Dimension, millionNames, pieceNames } from "../usage_parts.ts";
import type { ContextTierFields, PriceFields, RateFields } from "./price_row.ts";

/** Writes a row with the fields of `PRICES_FILE`, to be read or pasted there. */
export function priceFieldsOf(row: PriceRow): PriceFields {
  const tiers = row.contextTiers.map(({ threshold, inclusive, rates }): ContextTierFields => ({
    ...(inclusive ? { from_input_tokens: threshold } : { above_input_tokens: threshold }),
    ...rateFieldsOf(rates),
  }));
  return {
    ...rateFieldsOf(row.rates),
    ...(tiers.length === 0 ? {} : { context_tiers: tiers }),
    ...factorFields("service_tiers", row.serviceTiers),
    ...factorFields("regions", row.regions ?? {}),
    ...(row.maxOutputTokens === undefined ? {} : { max_output_tokens: row.maxOutputTokens }),
    ...(row.validFrom === undefined ? {} : { valid_from: day(row.validFrom, 0) }),
    ...(row.validTo === undefined ? {} : { valid_to: day(row.validTo, -1) }),
  };
}

function factorFields(
  name: "service_tiers" | "regions",
  factors: Readonly<Record<string, Fraction>>,
): Pick<PriceFields, "service_tiers" | "regions"> {
  const entries = Object.entries(factors).map(([key, { numerator, denominator }]) => [
    key,
    decimal(numerator * 10n ** 6n / denominator, 6),
  ]);
  return entries.length === 0 ? {} : { [name]: Object.fromEntries(entries) };
}

export const dimensionWords = { ...millionNames, ...pieceNames, perImage: "per_image" } as const;

/**
 * Writes a rate as in `PRICES_FILE`: USD per million units, or per unit where that is the price's
 * unit.
 */
export function rateWords(dimension: Dimension | "perImage", ratePico: bigint): string {
  return decimal(ratePico, dimension in millionNames ? 6 : 12);
}

function rateFieldsOf(rates: Rates): RateFields {
  const entries = Object.entries(rates).map(([name, rate]) => {
    const dimension = name as keyof typeof dimensionWords;
    const texts = typeof rate === "bigint" ? rateWords(dimension, rate) : Object.fromEntries(
      Object.entries(rate).map(([kind, pico]) => [kind, rateWords(dimension, pico)]),
    );
    return [dimensionWords[dimension], texts];
  });
  return Object.fromEntries(entries);
}

function decimal(units: bigint, digits: number): string {
  const text = units.toString().padStart(digits + 1, "0");
  const fraction = withoutEnd(text.slice(-digits), "0");
  return text.slice(0, -digits) + (fraction === "" ? "" : `.${fraction}`);
}

function day(at: Date, addedDays: number): string {
  return new Date(at.getTime() + addedDays * dayMs).toISOString().slice(0, 10);
}
