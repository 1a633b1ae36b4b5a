import type { ModelPrice, Provider } from "@pydantic/genai-prices";
import { parseUsd } from "../../base/money.ts";
import type { ContextTier, PriceRow, Rates } from "../pricing.ts";
import { priceRow } from "../table/price_row.ts";

/**
 * The public price package, as rows like ours. It ships its data and makes no requests; its 800 KB
 * are loaded only when somebody compares prices.
 */
export interface PublicPrices {
  /** Returns its price of a model at a time; undefined when it has none. */
  find(label: string, model: string, at: Date): PriceRow | undefined;
}

/** Name and version, for people. */
export const publicPackage = "@pydantic/genai-prices 0.1.8";

/**
 * `addressOf` returns a vendor's address, by which the package recognises vendors that the operator
 * added.
 */
export async function openPublicPrices(
  addressOf: (label: string) => string | undefined,
): Promise<PublicPrices> {
  const { calcPrice, findProvider } = await import("@pydantic/genai-prices");
  const providersOf = (label: string): Provider[] => {
    const own = publicProviders[label];
    const providerApiUrl = addressOf(label);
    const found = own
      ? own.map((providerId) => findProvider({ providerId }))
      : [providerApiUrl === undefined ? undefined : findProvider({ providerApiUrl })];
    return found.filter((provider) => provider !== undefined);
  };
  return {
    find(label, model, at) {
      for (const provider of providersOf(label)) {
        for (const name of namesOf(model)) {
          const found = calcPrice({ input_tokens: 0 }, name, {
            providerId: provider.id,
            timestamp: at,
          });
          if (found) return rowOf(label, model, found.model_price);
        }
      }
      return undefined;
    },
  };
}

/**
 * The package's ids of each vendor's price lists; for a vendor that hosts others' models, those of
 * the models' makers.
 */
export const publicProviders: Readonly<Record<string, readonly string[]>> = {
  "vendor-a": ["deepseek", "moonshotai"],
  "vendor-b": ["openai"],
  "vendor-c": ["anthropic"],
  "vendor-d": ["google"],
  "vendor-e": ["google"],
  "vendor-f": ["openrouter"],
  "vendor-g": ["x-ai"],
};

/**
 * Returns the names to look for: a hosted model is `maker/model`, but its maker's own list has only
 * `model`.
 */
function namesOf(model: string): string[] {
  const slash = model.lastIndexOf("/");
  return slash < 0 ? [model] : [model, model.slice(slash + 1)];
}

const perMillionTokens = {
  input_mtok: "input",
  output_mtok: "output",
  cache_read_mtok: "cacheRead",
  cache_write_mtok: "cacheWrite",
  cache_write_1h_mtok: "cacheWriteLong",
  output_reasoning_mtok: "reasoning",
  input_audio_mtok: "audioInput",
  cache_audio_read_mtok: "cachedAudioInput",
  output_audio_mtok: "audioOutput",
  input_image_mtok: "imageInput",
  output_image_mtok: "imageOutput",
} as const;

const perThousand = {
  requests_kcount: "perRequest",
  web_searches_kcount: "perWebSearch",
} as const;

type Price = ModelPrice[string];

/** The package's tiers are per price and begin above `start`; ours are per threshold. */
function rowOf(label: string, model: string, prices: ModelPrice): PriceRow {
  const starts = new Set(
    Object.values(prices).flatMap((price) =>
      typeof price === "object" ? price.tiers.map((tier) => tier.start) : []
    ),
  );
  const contextTiers: ContextTier[] = [...starts].sort((one, other) => one - other).map((
    start,
  ) => ({
    threshold: start,
    inclusive: false,
    rates: ratesOf(prices, (price) => tierPrice(price, start)),
  }));
  return priceRow({ label, model, source: publicPackage }, {
    rates: ratesOf(prices, (price) => typeof price === "object" ? price.base : price),
    contextTiers,
    serviceTiers: {},
  });
}

function tierPrice(price: Price, start: number): number | undefined {
  if (typeof price !== "object") return price;
  const reached = price.tiers.filter((tier) => tier.start <= start)
    .toSorted((one, other) => one.start - other.start);
  return reached.at(-1)?.price ?? price.base;
}

function ratesOf(prices: ModelPrice, pick: (price: Price) => number | undefined): Rates {
  const rates: Rates = {};
  // Pico-dollars: 10^12 to the dollar, for a million tokens or a thousand of the others.
  for (const [names, digits] of [[perMillionTokens, 6], [perThousand, 9]] as const) {
    for (const [name, dimension] of Object.entries(names)) {
      const usd = pick(prices[name]);
      if (usd === undefined) continue;
      rates[dimension] = parseUsd(String(usd), digits, { allowExponent: true, excess: "up" });
    }
  }
  // Audio is priced per hour.
  const hour = pick(prices.audio_hours);
  if (hour !== undefined) {
    const options = { allowExponent: true, excess: "up" } as const;
    rates.perMinute = parseUsd(String(hour), 12, options) / 60n;
  }
  return rates;
}
