import type { PriceEntry } from "./price_row.ts";
import { articles, genaiPackage, repository } from "../sources/price_sources.ts";
import { vendorBPrices } from "./price_table_b.ts";
import { vendorCPrices } from "./price_table_c.ts";
import { vendorDPrices } from "./price_table_d.ts";
import { mediaPrices } from "./price_table_media.ts";
import { unifiedMediaPrices } from "./price_table_pictures.ts";

/**
 * A cheap current model of each vendor with a known price, for first calls such as the printed
 * curl line. Not a promise: any operator may name another.
 */
export const defaultModels: Readonly<Record<string, string>> = {
  "vendor-a": "deepseek-ai/DeepSeek-V4-Flash",
  "vendor-b": "gpt-6-luna",
  "vendor-c": "claude-haiku-5-5",
  "vendor-d": "gemini-3.5-flash-lite",
  "vendor-e": "gemini-3.5-flash-lite",
  "vendor-f": "openai/gpt-6-luna",
  "vendor-g": "grok-4.3",
};

// Web and X search and runs of code 5 per 1,000 calls, searches of collections 2.50 (docs.x.ai,
// "Tools Pricing", read in November 2026).
const familyG = {
  label: "vendor-g",
  per_web_search: "0.005",
  per_x_search: "0.005",
  per_code_session: "0.005",
  per_file_search: "0.0025",
};

/**
 * The bundled prices: USD per million tokens as decimal strings, in the
 * words of `PRICES_FILE`.
 */
export const priceTable: readonly PriceEntry[] = [
  // vendor-a: prices of the models' own makers; who hosts them may ask another price, which the
  // vendor's model list tells. So these stand in only where the list is silent.
  {
    label: "vendor-a",
    models: ["deepseek-ai/DeepSeek-V4-Pro", "deepseek-v4-pro"],
    input: "0.435",
    cache_read: "0.003625",
    output: "0.87",
    fallback: true,
    ...repository("2026-06-02"),
  },
  {
    label: "vendor-a",
    models: ["deepseek-ai/DeepSeek-V4-Flash", "deepseek-v4-flash"],
    input: "0.14",
    cache_read: "0.0028",
    output: "0.28",
    fallback: true,
    ...repository("2026-05-12"),
  },
  {
    label: "vendor-a",
    models: ["moonshotai/Kimi-K2.6", "kimi-k2.6"],
    input: "0.95",
    cache_read: "0.16",
    output: "4",
    fallback: true,
    ...repository("2026-05-22"),
  },

  ...vendorBPrices,
  ...vendorCPrices,
  ...vendorDPrices,
  ...mediaPrices,
  ...unifiedMediaPrices,

  {
    ...familyG,
    models: ["grok-4.7"],
    input: "2",
    cache_read: "0.50",
    output: "6",
    context_tiers: [{ from_input_tokens: 200_000, input: "4", cache_read: "1.0", output: "12" }],
    ...articles,
  },
  {
    ...familyG,
    models: ["grok-4.6"],
    input: "2",
    cache_read: "0.50",
    output: "6",
    context_tiers: [{ from_input_tokens: 200_000, input: "4", cache_read: "1.0", output: "12" }],
    ...genaiPackage,
  },
  {
    ...familyG,
    models: ["grok-4.3"],
    input: "1.25",
    cache_read: "0.20",
    output: "2.5",
    context_tiers: [{ from_input_tokens: 200_000, input: "2.5", cache_read: "0.4", output: "5" }],
    ...genaiPackage,
  },

  // vendor-f reports what it charged and lists prices; this stands in where it does neither, at the
  // dearest base prices of this table.
  {
    label: "vendor-f",
    models: ["*"],
    input: "10",
    cache_write: "12.5",
    cache_write_1h: "20",
    output: "50",
    fallback: true,
    source: "dearest rows of this table",
    checked_on: "2026-11",
  },
];
