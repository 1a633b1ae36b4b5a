import { parseUsd, picoDigits } from "../../base/money.ts";
import type { ContextTier, PriceRow, Rates } from "../pricing.ts";
import { priceRow } from "../table/price_row.ts";

/**
 * Reads price rows from an aggregator's model list: `data[].pricing` with decimal strings in USD
 * per token. `body` is the parsed answer, or its `data`; it isn't trusted: what can't be read is
 * left out. A model with a variable price (`"-1"`) gets no row. Of prices that depend on the time
 * of day the dearer counts; prices for long contexts become tiers. A model with more than
 * `maxOverrides` gets no row either: each tier is made of all of them.
 */
export function rowsFromAggregatorModels(label: string, body: unknown): PriceRow[] {
  return modelsOf(body).flatMap((model) => {
    const { id, pricing } = model;
    if (typeof id !== "string" || !isObject(pricing)) return [];
    const rates = discounted(aggregatorRates(pricing), pricing.discount);
    // Both keys are mandatory there; without them, or with "-1", the price isn't known in advance.
    if (rates.input === undefined || rates.output === undefined) return [];
    const listed = Array.isArray(pricing.overrides) ? pricing.overrides : [];
    if (listed.length > maxOverrides) return [];
    const overrides = overridesOf(listed, pricing.discount);
    const top = isObject(model.top_provider) ? model.top_provider : {};
    const maxOutputTokens = limit(top.max_completion_tokens);
    const contextTokens = limit(model.context_length);
    return [
      priceRow({
        label,
        model: id,
        source: `model list of ${label}`,
        ...contextTokens && { contextTokens },
      }, {
        rates: withOverrides(rates, overrides.filter((each) => each.threshold === undefined)),
        contextTiers: tiersOf(rates, overrides),
        serviceTiers: {},
        ...maxOutputTokens && { maxOutputTokens },
      }),
    ];
  });
}

/**
 * Reads price rows from a hosted provider's model list: `data[].providers[]` with `status` and
 * `pricing` `{input, output}`, numbers in USD per million tokens. The model itself gets the dearest
 * price of its live providers, since the vendor chooses among them; `<model>:<provider>` gets that
 * provider's price.
 */
export function rowsFromHostedModels(label: string, body: unknown): PriceRow[] {
  return modelsOf(body).flatMap(({ id, providers }) => {
    if (typeof id !== "string" || !Array.isArray(providers)) return [];
    const live = providers.filter(isObject).flatMap((provider) => {
      const pricing = isObject(provider.pricing) ? provider.pricing : {};
      const input = listedUsd(pricing.input, perMillionDigits);
      const output = listedUsd(pricing.output, perMillionDigits);
      if (provider.status !== "live" || input === undefined || output === undefined) return [];
      return [{ name: provider.provider, rates: { input, output } }];
    });
    if (live.length === 0) return [];
    const row = (model: string, rates: Rates): PriceRow =>
      priceRow({ label, model, source: `model list of ${label}` }, {
        rates,
        contextTiers: [],
        serviceTiers: {},
      });
    const costliest = live.reduce<Rates>((rates, one) => costliestRates(rates, one.rates), {});
    return [
      row(id, costliest),
      ...live.filter((one) => typeof one.name === "string")
        .map((one) => row(`${id}:${one.name}`, one.rates)),
    ];
  });
}

type Json = Record<string, unknown>;
/** Rates without prices by kind of image, which no list has. */
type ListedRates = Omit<Rates, "perImage">;

const perMillionDigits = picoDigits - 6;

const aggregatorKeys = {
  prompt: "input",
  completion: "output",
  request: "perRequest",
  web_search: "perWebSearch",
  image_token: "imageInput",
  image_output: "imageOutput",
  audio: "audioInput",
  audio_output: "audioOutput",
  input_audio_cache: "cachedAudioInput",
  input_cache_read: "cacheRead",
  input_cache_write: "cacheWrite",
  input_cache_write_1h: "cacheWriteLong",
  internal_reasoning: "reasoning",
} as const;

function aggregatorRates(pricing: Json): ListedRates {
  const rates: ListedRates = {};
  for (const [key, dimension] of Object.entries(aggregatorKeys)) {
    const rate = listedUsd(pricing[key], picoDigits);
    // The list says "0" for "no price of its own" too, so only the two main prices can be free.
    const main = dimension === "input" || dimension === "output";
    if (rate !== undefined && (main || rate > 0n)) rates[dimension] = rate;
  }
  return rates;
}

/** Prices that replace a model's own: above a threshold, in a part of the day, or always. */
interface Override {
  threshold: number | undefined;
  isTimeBound: boolean;
  rates: ListedRates;
}

/** Lists have a handful at most. */
const maxOverrides = 16;

function overridesOf(listed: readonly unknown[], discount: unknown): Override[] {
  return listed.filter(isObject).map((override) => ({
    threshold: threshold(override),
    isTimeBound: timeBound(override),
    rates: discounted(aggregatorRates(override), discount),
  }));
}

/**
 * Builds one tier per threshold, from all entries that apply above it; later entries win by key.
 */
function tiersOf(rates: ListedRates, overrides: readonly Override[]): ContextTier[] {
  const thresholds = new Set(
    overrides.map((each) => each.threshold).filter((tokens) => tokens !== undefined),
  );
  return [...thresholds].sort((one, other) => one - other).map((tokens) => ({
    threshold: tokens,
    inclusive: false,
    rates: withOverrides(rates, overrides.filter((each) => (each.threshold ?? 0) <= tokens)),
  }));
}

function withOverrides(rates: ListedRates, overrides: readonly Override[]): ListedRates {
  return overrides.reduce<ListedRates>((current, override) => {
    const next = { ...current, ...override.rates };
    return override.isTimeBound ? costliestRates(current, next) : next;
  }, rates);
}

function timeBound(override: Json): boolean {
  return ["utc_start", "utc_end", "utc_days"].some((key) => override[key] !== undefined);
}

function threshold(override: Json): number | undefined {
  const tokens = override.min_prompt_tokens;
  return typeof tokens === "number" && tokens > 0 ? tokens : undefined;
}

/** Price × (1 − discount), rounded up to a pico-dollar; no discount when it can't be read. */
function discounted(rates: ListedRates, discount: unknown): ListedRates {
  const part = listedUsd(discount, perMillionDigits) ?? 0n;
  const all = 10n ** BigInt(perMillionDigits);
  if (part <= 0n || part > all) return rates;
  const reduced = (rate: bigint): bigint => (rate * (all - part) + all - 1n) / all;
  return Object.fromEntries(Object.entries(rates).map(([key, rate]) => [key, reduced(rate)]));
}

function costliestRates(one: ListedRates, other: ListedRates): ListedRates {
  const costliest: ListedRates = { ...one };
  for (const key of Object.keys(other) as (keyof ListedRates)[]) {
    const rate = other[key];
    const current = one[key];
    if (rate !== undefined && (current === undefined || rate > current)) costliest[key] = rate;
  }
  return costliest;
}

/** Reads a vendor's amount, text or number; undefined when it is missing or negative. */
function listedUsd(value: unknown, digits: number): bigint | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  try {
    return parseUsd(String(value), digits, { allowExponent: true, excess: "up" });
  } catch {
    return undefined;
  }
}

function limit(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function modelsOf(body: unknown): Json[] {
  const list = isObject(body) ? body.data : body;
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
