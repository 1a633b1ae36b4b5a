import type { PriceEntry } from "./price_row.ts";
import { genaiPackage } from "../sources/price_sources.ts";

/** Imagen's rows of litellm's table, as two projects print them; they agree. */
const litellmPrinted = {
  source: "litellm's model price table, as printed",
  checked_on: "2026-11-21",
};
/**
 * "Official price" on docs.crazyrouter.com (the first) and vendor's prices on atlascloud.ai (both).
 * Another reseller writes of up to 0.08 for the newest model at 2K: the vendor's page was not read.
 */
const resellers = { source: "resellers quoting the vendor's price", checked_on: "2026-11-21" };
/**
 * Replicate's prices, the dearest of the hosts that workflowlab.dev compared on 2026-05-11; others
 * asked 0.0027 and 0.0154.
 */
const dearestHost = {
  source: "dearest host compared by workflowlab.dev",
  checked_on: "2026-05-11",
};

/** Bundled prices of pictures and speech of vendors other than vendor-b. */
export const unifiedMediaPrices: readonly PriceEntry[] = [
  {
    label: "vendor-d",
    models: ["imagen-4.0-fast-generate-001"],
    per_image: "0.02",
    ...litellmPrinted,
  },
  { label: "vendor-d", models: ["imagen-4.0-generate-001"], per_image: "0.04", ...litellmPrinted },
  {
    label: "vendor-d",
    models: ["imagen-4.0-ultra-generate-001"],
    per_image: "0.06",
    ...litellmPrinted,
  },
  {
    label: "vendor-d",
    models: ["gemini-2.5-flash-preview-tts"],
    input: "0.50",
    // All output is sound, also where usage doesn't say so.
    output: "10",
    audio_output: "10",
    ...genaiPackage,
  },
  {
    label: "vendor-d",
    models: ["gemini-2.5-pro-preview-tts"],
    input: "1",
    output: "20",
    audio_output: "20",
    ...genaiPackage,
  },
  { label: "vendor-g", models: ["grok-imagine-image"], per_image: "0.02", ...resellers },
  { label: "vendor-g", models: ["grok-imagine-image-quality"], per_image: "0.05", ...resellers },
  {
    label: "vendor-g",
    models: ["tts"],
    per_million_characters: "4.20",
    source: "vendor's model pages",
    checked_on: "2026-04",
  },
  // Who hosts them asks prices of their own: these stand in where its list is silent.
  {
    label: "vendor-a",
    models: ["black-forest-labs/FLUX.1-schnell"],
    per_image: "0.003",
    fallback: true,
    ...dearestHost,
  },
  {
    label: "vendor-a",
    models: ["black-forest-labs/FLUX.1-dev"],
    per_image: "0.025",
    fallback: true,
    ...dearestHost,
  },
];
