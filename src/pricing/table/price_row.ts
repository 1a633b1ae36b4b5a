import { sha256Hex } from "../../base/hash.ts";
import { parseUsd, picoDigits } from "../../base/money.ts";
import {
  type ChatRefusal,
  chatRefusals,
  type ContextTier,
  type Fraction,
  type PriceRow,
  type Rates,
} from "../pricing.ts";
import { dayMs } from "../../shared/time_span.ts";
import { type Dimension, millionNames, pieceNames } from "../usage_parts.ts";

/**
 * Prices of one model in the words of `PRICES_FILE` (docs/configuration.md): decimal strings, USD per
 * million tokens unless the name says otherwise. The bundled table is written in them too.
 */
export interface PriceFields extends RateFields {
  context_tiers?: readonly ContextTierFields[];
  /** Factors by the tier that a vendor reports, such as `{"flex": "0.5"}`. */
  service_tiers?: Readonly<Record<string, string>>;
  /** Factors by the region that a vendor reports, such as `{"us": "1.1"}`. */
  regions?: Readonly<Record<string, string>>;
  max_output_tokens?: number;
  /** What the vendor's chat endpoint refuses of this model, and its responses endpoint takes. */
  chat_refuses?: readonly ChatRefusal[];
  /** First day, `YYYY-MM-DD`, UTC. */
  valid_from?: string;
  /** Last day, this one included. */
  valid_to?: string;
}

/** Prices that several models of one vendor share, with where they come from. */
export interface PriceEntry extends PriceFields {
  label: string;
  models: readonly string[];
  source: string;
  /** Day, or month where the source gives no day, on which the source was read. */
  checked_on: string;
  /** Used only where neither the operator nor the vendor's own list has a price. */
  fallback?: boolean;
}

type Values<T> = T[keyof T];

/** `{ input?: string, …, per_request?: string, … }`. */
export type RateFields =
  & { [N in Values<typeof millionNames> | Values<typeof pieceNames>]?: string }
  & { per_image?: string | Readonly<Record<string, string>> };

/** One of the two thresholds, and the prices that change. */
export interface ContextTierFields extends RateFields {
  above_input_tokens?: number;
  from_input_tokens?: number;
}

/** Whose row it is and where its prices come from. */
export interface RowOrigin {
  label: string;
  model: string;
  source: string;
  checkedOn?: string;
  fallback?: boolean;
  contextTokens?: number;
}

/**
 * A price row from decimal fields, which are not trusted: anything unknown or of a wrong form
 * throws an Error whose one-line message begins with `path`, such as `vendor-b/gpt-x.input: …`.
 */
export function readPriceRow(origin: RowOrigin, value: unknown, path: string): PriceRow {
  const fields = objectAt(value, path);
  refuseUnknown(fields, [...rateNames, ...rowNames], path);
  const validFrom = dayAt(fields.valid_from, `${path}.valid_from`);
  const lastDay = dayAt(fields.valid_to, `${path}.valid_to`);
  if (validFrom !== undefined && lastDay !== undefined && lastDay < validFrom) {
    throw new Error(`${path}.valid_to: expected a day not before valid_from`);
  }
  const maxOutputTokens = fields.max_output_tokens === undefined
    ? undefined
    : wholeAt(fields.max_output_tokens, `${path}.max_output_tokens`, 1);
  return priceRow(origin, {
    rates: ratesAt(fields, path),
    contextTiers: listAt(fields.context_tiers, `${path}.context_tiers`).map(tierAt),
    serviceTiers: factorsAt(fields.service_tiers, `${path}.service_tiers`),
    ...fields.regions === undefined
      ? {}
      : { regions: factorsAt(fields.regions, `${path}.regions`) },
    ...maxOutputTokens === undefined ? {} : { maxOutputTokens },
    ...fields.chat_refuses === undefined
      ? {}
      : { chatRefuses: refusalsAt(fields.chat_refuses, `${path}.chat_refuses`) },
    ...validFrom === undefined ? {} : { validFrom },
    ...lastDay === undefined ? {} : { validTo: new Date(lastDay.getTime() + dayMs) },
  });
}

/** A row with its version: the first 12 hex digits of the SHA-256 of everything that sets a price. */
export function priceRow(
  origin: RowOrigin,
  prices: Omit<PriceRow, "version" | keyof RowOrigin>,
): PriceRow {
  const { rates, contextTiers, serviceTiers, regions, validFrom, validTo } = prices;
  const { label, model } = origin;
  const content = [label, model, rates, contextTiers, serviceTiers, validFrom, validTo];
  // Rows without them keep the version that they had before regions were priced.
  if (regions) content.push(regions);
  return { ...origin, ...prices, version: sha256Hex(canonicalText(content)).slice(0, 12) };
}

/** Digits by which USD per million units become pico-dollars per unit. */
const perMillionDigits = picoDigits - 6;

/** Each list of dimensions, and the digits by which its prices become pico-dollars per unit. */
const rateTables = [[millionNames, perMillionDigits], [pieceNames, picoDigits]] as const;

const rateNames = [...rateTables.flatMap(([names]) => Object.values<string>(names)), "per_image"];
const rowNames = [
  "context_tiers",
  "service_tiers",
  "regions",
  "max_output_tokens",
  "chat_refuses",
  "valid_from",
  "valid_to",
];
const thresholdNames = ["above_input_tokens", "from_input_tokens"];

function ratesAt(fields: Record<string, unknown>, path: string): Rates {
  const rates: Rates = {};
  for (const [names, digits] of rateTables) {
    for (const [dimension, name] of Object.entries(names)) {
      const value = fields[name];
      if (value === undefined) continue;
      rates[dimension as Dimension] = usdAt(value, digits, `${path}.${name}`);
    }
  }
  if (fields.per_image !== undefined) {
    rates.perImage = perImageAt(fields.per_image, `${path}.per_image`);
  }
  return rates;
}

function perImageAt(value: unknown, path: string): bigint | Record<string, bigint> {
  if (typeof value === "string") return usdAt(value, picoDigits, path);
  const entries = Object.entries(objectAt(value, path, `a decimal string or an object`));
  if (entries.length === 0) throw new Error(`${path}: expected at least one price`);
  return Object.fromEntries(
    entries.map(([kind, usd]) => [kind, usdAt(usd, picoDigits, `${path}.${kind}`)]),
  );
}

function tierAt({ value, path }: { value: unknown; path: string }): ContextTier {
  const fields = objectAt(value, path);
  refuseUnknown(fields, [...rateNames, ...thresholdNames], path);
  const [name, other] = thresholdNames.filter((threshold) => fields[threshold] !== undefined);
  if (name === undefined || other !== undefined) {
    throw new Error(`${path}: expected one of above_input_tokens and from_input_tokens`);
  }
  return {
    threshold: wholeAt(fields[name], `${path}.${name}`, 0),
    inclusive: name === "from_input_tokens",
    rates: ratesAt(fields, path),
  };
}

function factorsAt(value: unknown, path: string): Record<string, Fraction> {
  if (value === undefined) return {};
  return Object.fromEntries(
    Object.entries(objectAt(value, path)).map(([tier, factor]) => [tier, {
      numerator: usdAt(factor, factorDigits, `${path}.${tier}`),
      denominator: 10n ** BigInt(factorDigits),
    }]),
  );
}

const factorDigits = 6;

function refusalsAt(value: unknown, path: string): ChatRefusal[] {
  return listAt(value, path).map((item) => {
    const allowed = chatRefusals.find((name) => name === item.value);
    if (allowed !== undefined) return allowed;
    throw new Error(
      `${item.path}: expected one of ${chatRefusals.join(", ")}, got ${shown(item.value)}`,
    );
  });
}

function usdAt(value: unknown, digits: number, path: string): bigint {
  if (typeof value !== "string") {
    throw new Error(`${path}: expected a decimal string such as "0.25", got ${shown(value)}`);
  }
  try {
    return parseUsd(value, digits);
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : error}`);
  }
}

function dayAt(value: unknown, path: string): Date | undefined {
  if (value === undefined) return undefined;
  const day = typeof value === "string" && /^\d{4}-\d{2}-\d{2}$/.test(value)
    ? new Date(value)
    : undefined;
  // A day that doesn't exist (2026-02-30) is invalid or read as another one.
  if (
    day === undefined || Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== value
  ) {
    throw new Error(`${path}: expected a day such as "2026-12-01", got ${shown(value)}`);
  }
  return day;
}

function wholeAt(value: unknown, path: string, least: number): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < least) {
    throw new Error(`${path}: expected a whole number from ${least}, got ${shown(value)}`);
  }
  return value;
}

function objectAt(value: unknown, path: string, expected = "an object"): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${path}: expected ${expected}, got ${shown(value)}`);
  }
  return { ...value };
}

function listAt(value: unknown, path: string): { value: unknown; path: string }[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new Error(`${path}: expected an array, got ${shown(value)}`);
  return value.map((item: unknown, index) => ({ value: item, path: `${path}[${index}]` }));
}

function refuseUnknown(
  fields: Record<string, unknown>,
  allowed: readonly string[],
  path: string,
): void {
  const unknown = Object.keys(fields).find((name) => !allowed.includes(name));
  if (unknown === undefined) return;
  throw new Error(`${path}.${unknown}: unknown field, expected one of ${allowed.join(", ")}`);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** JSON with sorted keys, and bigints as digits. */
function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === "bigint") return item.toString();
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).sort(([one], [other]) => one < other ? -1 : 1));
  });
}
