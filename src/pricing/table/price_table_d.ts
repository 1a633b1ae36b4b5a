import type { PriceEntry } from "./price_row.ts";
import { genaiPackage, repository, tracker } from "../sources/price_sources.ts";

// Grounding by searches and by maps: 14 per 1,000 queries (maps: TokenMeter 0.14.0,
// November 2026). Running code costs its tokens alone. Batch and flex at half the price are
// "typical".
const familyD = {
  label: "vendor-d",
  per_web_search: "0.014",
  per_maps_query: "0.014",
  service_tiers: { batch: "0.5", flex: "0.5" },
};

// Generation 2.5 pays by grounded prompt, 35 per 1,000 for searches and 25 for maps (TokenMeter
// 0.13.0 and 0.14.0, quoting the vendor's price page).
const family2 = { ...familyD, per_web_search: "0.035", per_maps_query: "0.025" };

// Priority is known for these models alone (genai-prices 0.1.8, citing the vendor's price page).
const dearerPriority = {
  ...familyD,
  service_tiers: { ...familyD.service_tiers, priority: "1.8" },
};

/** Bundled prices of vendor-d. */
export const vendorDPrices: readonly PriceEntry[] = [
  {
    ...familyD,
    models: ["gemini-4-argon"],
    input: "2",
    cache_read: "0.10",
    output: "10",
    valid_to: "2026-11-30",
    ...tracker,
  },
  {
    ...familyD,
    models: ["gemini-4-argon"],
    input: "4",
    cache_read: "0.20",
    output: "20",
    valid_from: "2026-12-01",
    ...tracker,
  },
  {
    ...dearerPriority,
    models: ["gemini-3.8-flash"],
    input: "0.75",
    cache_read: "0.075",
    output: "3.75",
    valid_to: "2026-12-31",
    source: "vendor's model pages",
    checked_on: "2026-10-07",
  },
  {
    ...dearerPriority,
    models: ["gemini-3.8-flash"],
    input: "1.5",
    cache_read: "0.15",
    output: "7.5",
    valid_from: "2027-01-01",
    ...genaiPackage,
  },
  {
    ...dearerPriority,
    models: ["gemini-3.7-flash"],
    input: "0.75",
    cache_read: "0.075",
    output: "3.75",
    valid_to: "2026-12-31",
    ...repository("2026-08-13"),
  },
  {
    ...familyD,
    models: ["gemini-3.6-flash"],
    input: "0.75",
    cache_read: "0.075",
    output: "3.75",
    valid_to: "2026-12-31",
    ...repository("2026-08-13"),
  },
  {
    ...dearerPriority,
    models: ["gemini-3.7-flash"],
    input: "1.5",
    cache_read: "0.15",
    output: "7.5",
    valid_from: "2027-01-01",
    ...repository("2026-08-13"),
  },
  {
    ...familyD,
    models: ["gemini-3.6-flash"],
    input: "1.5",
    cache_read: "0.15",
    output: "7.5",
    valid_from: "2027-01-01",
    ...repository("2026-08-13"),
  },
  {
    ...familyD,
    models: ["gemini-3.5-flash-lite"],
    input: "0.30",
    cache_read: "0.03",
    output: "2.5",
    ...repository("2026-07-22"),
  },
  {
    ...familyD,
    models: ["gemini-3.1-pro-preview"],
    input: "2",
    cache_read: "0.20",
    output: "12",
    context_tiers: [{ above_input_tokens: 200_000, input: "4", cache_read: "0.4", output: "18" }],
    max_output_tokens: 65_536,
    ...repository("2026-02-23"),
  },
  {
    ...family2,
    models: ["gemini-2.5-pro"],
    input: "1.25",
    cache_read: "0.125",
    output: "10",
    context_tiers: [{
      above_input_tokens: 200_000,
      input: "2.5",
      cache_read: "0.25",
      output: "15",
    }],
    max_output_tokens: 65_536,
    ...repository("2025-10-31"),
  },
  {
    ...family2,
    models: ["gemini-2.5-flash"],
    input: "0.30",
    audio_input: "1.00",
    cache_read: "0.03",
    cached_audio_input: "0.10",
    output: "2.5",
    max_output_tokens: 65_536,
    ...repository("2025-10-31"),
  },
  {
    ...family2,
    models: ["gemini-2.5-flash-lite"],
    input: "0.10",
    audio_input: "0.30",
    cache_read: "0.01",
    cached_audio_input: "0.03",
    output: "0.40",
    max_output_tokens: 65_536,
    ...repository("2025-10-31"),
  },
  {
    ...familyD,
    models: ["gemini-3-pro-image-preview"],
    input: "2",
    output: "12",
    image_output: "120",
    ...repository("2026-07-22"),
  },
  {
    ...familyD,
    models: ["gemini-2.5-flash-image"],
    input: "0.30",
    output: "2.5",
    image_output: "30",
    ...repository("2026-07-22"),
  },
];
