import type { PriceEntry } from "./price_row.ts";
import { audited, repository, vendorPages } from "../sources/price_sources.ts";

// Output limits: the vendor's model pages. Web search: 10 per 1,000. Batch at half
// the price is "typical" there (§1); "fast" is listed for one model only.
const familyC = {
  label: "vendor-c",
  per_web_search: "0.01",
  service_tiers: { batch: "0.5" },
  max_output_tokens: 128_000,
};

// Inference in the USA alone (`inference_geo`), for claude-opus-4-6 and all later models
// (platform.claude.com, "Data residency" and "Pricing", read in November 2026). Code execution is
// billed by the hour, which no answer tells: it has no price here.
const laterC = { ...familyC, regions: { us: "1.1" } };

/** Bundled prices of vendor-c. */
export const vendorCPrices: readonly PriceEntry[] = [
  {
    ...laterC,
    models: ["claude-fable-5-1"],
    input: "10",
    cache_read: "0.25",
    cache_write: "12.5",
    cache_write_1h: "20",
    output: "50",
    ...vendorPages,
  },
  {
    ...laterC,
    models: ["claude-opus-5-5"],
    input: "4",
    cache_read: "0.20",
    cache_write: "5",
    cache_write_1h: "8",
    output: "20",
    service_tiers: { ...familyC.service_tiers, fast: "2" },
    ...vendorPages,
  },
  {
    ...laterC,
    models: ["claude-opus-5"],
    input: "5",
    cache_read: "0.50",
    cache_write: "6.25",
    cache_write_1h: "10",
    output: "25",
    ...vendorPages,
  },
  {
    ...laterC,
    models: ["claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6"],
    input: "5",
    cache_read: "0.50",
    cache_write: "6.25",
    cache_write_1h: "10",
    output: "25",
    ...repository("2026-07-29"),
  },
  {
    ...laterC,
    // Write prices are derived as 1.25 and 2 times the input.
    models: ["claude-sonnet-5-5"],
    input: "2",
    cache_read: "0.20",
    cache_write: "2.5",
    cache_write_1h: "4",
    output: "10",
    valid_to: "2026-10-06",
    ...audited,
  },
  {
    ...laterC,
    models: ["claude-sonnet-5-5"],
    input: "2",
    cache_read: "0.10",
    cache_write: "2.5",
    cache_write_1h: "4",
    output: "10",
    valid_from: "2026-10-07",
    ...vendorPages,
  },
  {
    ...laterC,
    models: ["claude-sonnet-5"],
    input: "2",
    cache_read: "0.20",
    cache_write: "2.5",
    cache_write_1h: "4",
    output: "10",
    ...vendorPages,
  },
  {
    ...laterC,
    models: ["claude-sonnet-4-6"],
    input: "3",
    cache_read: "0.30",
    cache_write: "3.75",
    cache_write_1h: "6",
    output: "15",
    ...repository("2026-07-29"),
  },
  {
    ...laterC,
    models: ["claude-haiku-5-5"],
    input: "0.10",
    cache_read: "0.01",
    cache_write: "0.125",
    cache_write_1h: "0.20",
    output: "0.50",
    // The upper tier's write prices are derived as 1.25 and 2 times its input.
    context_tiers: [{
      above_input_tokens: 100_000,
      input: "0.50",
      cache_read: "0.05",
      cache_write: "0.625",
      cache_write_1h: "1.00",
      output: "2.50",
    }],
    ...vendorPages,
  },
  {
    // Older than regions: the vendor refuses them.
    ...familyC,
    models: ["claude-haiku-4-5"],
    input: "1",
    cache_read: "0.10",
    cache_write: "1.25",
    cache_write_1h: "2",
    output: "5",
    max_output_tokens: 64_000,
    ...repository("2026-07-29"),
  },
];
