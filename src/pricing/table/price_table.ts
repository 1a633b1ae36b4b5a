import type { PriceEntry, PriceFields } from "./price_row.ts";

/**
 * A cheap current model of each vendor with a known price, for first calls such as the printed curl
 * line. Operators may name others.
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

/** Where prices come from, and when they were read there. */
type Source = Pick<PriceEntry, "source" | "checked_on">;

const vendorPages = { source: "vendor's model pages", checked_on: "2026-11" };
const genaiPackage = { source: "npm genai-prices 0.1.8", checked_on: "2026-09-23" };
const tracker = { source: "TokenMeter 0.13.1", checked_on: "2026-10-13" };
const litellm = { source: "litellm documentation", checked_on: "2026-11" };
const audited = {
  source: "PromptFuel releases, audited against vendor pages",
  checked_on: "2026-10",
};
const articles = { source: "apidog articles quoting the vendor's page", checked_on: "2026-11" };

/**
 * litellm's `model_prices_and_context_window.json` as of autumn 2026, in a stored copy. Its prices
 * per pixel are given here per picture (7.629e-8 × 1024 × 1024 = 0.08), its prices per character
 * per million. The vendor's own page was not read.
 */
const litellmTable = {
  source: "litellm's model price table, converted",
  checked_on: "2026-11-21",
};
/** Imagen's rows of the same table, as two projects print them; they agree. */
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
const costliestHost = {
  source: "dearest host compared by workflowlab.dev",
  checked_on: "2026-05-11",
};

/**
 * pollinations/pollinations#13569, whose author compared the charge with xAI's usage page: 200 code
 * points of 300 UTF-16 units counted as 200. HeyPuter/puter#3089 quotes the same price.
 */
const xaiUsage = {
  source: "pollinations, compared with xAI's usage page",
  checked_on: "2026-08-19",
};

/** A provider file of the repository, with the day on which its prices were checked. */
function repository(checkedOn: string): Source {
  return { source: "genai-prices repository", checked_on: checkedOn };
}

const tokenColumns = ["input", "output", "cache_read", "cache_write", "cache_write_1h"] as const;

/** USD per million tokens, by `tokenColumns`; the last ones may be missing. */
function tokens(prices: readonly string[]) {
  return Object.fromEntries(prices.map((price, at) => [tokenColumns[at], price]));
}

/**
 * Builds an entry; `more` has prices of other things than text, and what differs from the family.
 */
function row(
  family: Omit<PriceEntry, "models" | keyof Source>,
  models: string | readonly string[],
  source: Source,
  prices: readonly string[],
  more: PriceFields = {},
): PriceEntry {
  return { ...family, models: [models].flat(), ...tokens(prices), ...more, ...source };
}

/** Prices of prompts with more than `threshold` tokens. */
function above(threshold: number, prices: readonly string[]): PriceFields {
  return { context_tiers: [{ above_input_tokens: threshold, ...tokens(prices) }] };
}

// Prices of the models' makers. Hosts may charge other prices, which the vendor's model list has;
// these stand in only where it has none.
const familyA = { label: "vendor-a", fallback: true };

const vendorA = [
  row(familyA, ["deepseek-ai/DeepSeek-V4-Pro", "deepseek-v4-pro"], repository("2026-06-02"), [
    "0.435",
    "0.87",
    "0.003625",
  ]),
  row(familyA, ["deepseek-ai/DeepSeek-V4-Flash", "deepseek-v4-flash"], repository("2026-05-12"), [
    "0.14",
    "0.28",
    "0.0028",
  ]),
  row(familyA, ["moonshotai/Kimi-K2.6", "kimi-k2.6"], repository("2026-05-22"), [
    "0.95",
    "4",
    "0.16",
  ]),
];

// Batch and flex at half, priority and fast at double the price are "typical", not verified for
// each model.
const mediaB = {
  label: "vendor-b",
  service_tiers: { batch: "0.5", flex: "0.5", priority: "2", fast: "2" },
};
// Web search: 10 per 1,000. File search 2.50 per 1,000 calls, a code container of 1 GB 0.03 a
// session: litellm's `file_search_cost_per_1k_calls` and `code_interpreter_cost_per_session`,
// November 2026. `ultrafast` has no public price: it is refused in managed mode until an operator
// gives one.
const familyB = {
  ...mediaB,
  per_web_search: "0.01",
  per_file_search: "0.0025",
  per_code_session: "0.03",
};
// Its chat endpoint refuses function tools where the call asks for reasoning
// (openai/openai-openapi#541) …
const familyB54 = { ...familyB, chat_refuses: ["tools_with_reasoning"] as const };
// … and since 5.5, whose models reason unless they are told not to, with any effort but `none`
// (BerriAI/litellm#34569, jeffdafoe/llm-memory-api#178).
const familyB55 = { ...familyB, chat_refuses: ["tools"] as const };

const vendorB = [
  row(familyB55, "gpt-6-astra", genaiPackage, ["10", "50", "1", "12.5"], {
    ...above(272_000, ["20", "75", "2", "25"]),
  }),
  row(familyB55, "gpt-6-sol", genaiPackage, ["2", "10", "0.20", "2.5"], {
    ...above(272_000, ["4", "15", "0.4", "5"]),
  }),
  row(familyB55, "gpt-6.1-sol", litellm, ["2", "10", "0.10"]),
  // The upper tier's write prices aren't listed; they are derived as 1.25 and 2.5 times its input.
  row(familyB55, "gpt-6.1-terra", articles, ["1", "5", "0.05", "1.25", "2.5"], {
    ...above(272_000, ["2", "7.5", "0.10", "2.5", "5"]),
  }),
  row(familyB55, "gpt-6-luna", genaiPackage, ["0.10", "0.50", "0.01", "0.125"], {
    ...above(272_000, ["0.2", "0.75", "0.02", "0.25"]),
  }),
  // 5 / 30 until September 2026; the day of the change isn't known, so the row has no first day.
  row(familyB55, "gpt-5.6-sol", genaiPackage, ["4", "20", "0.40", "5"], {
    ...above(272_000, ["8", "30", "0.8", "10"]),
  }),
  row(familyB55, "gpt-5.6-terra", repository("2026-08-02"), ["2", "12", "0.20", "2.5"], {
    ...above(272_000, ["4", "18", "0.4", "5"]),
    valid_from: "2026-07-30",
  }),
  row(familyB55, "gpt-5.6-luna", repository("2026-08-02"), ["0.20", "1.20", "0.02", "0.25"], {
    ...above(272_000, ["0.4", "1.8", "0.04", "0.5"]),
    valid_from: "2026-07-30",
  }),
  row(familyB55, "gpt-5.5", genaiPackage, ["5", "30", "0.50"], {
    ...above(272_000, ["10", "45", "1"]),
  }),
  row(familyB54, "gpt-5.4", repository("2026-03-06"), ["2.5", "15", "0.25"], {
    ...above(272_000, ["5", "22.5", "0.5"]),
  }),
  row(familyB54, "gpt-5.4-mini", repository("2026-03-18"), ["0.75", "4.5", "0.075"]),
  row(familyB54, "gpt-5.4-nano", repository("2026-03-18"), ["0.20", "1.25", "0.02"]),
  row(familyB, "gpt-5-mini", repository("2025-11-13"), ["0.25", "2", "0.025"]),
  row(familyB, "gpt-4.1", repository("2025-07-04"), ["2", "8", "0.50"], {
    max_output_tokens: 32_768,
  }),
  row(familyB, "gpt-4o-mini", repository("2025-07-04"), ["0.15", "0.60", "0.075"], {
    max_output_tokens: 16_384,
  }),
  // Cached text is 1.25 and cached images 2. Only the image tool's usage tells them apart, and a row
  // has one price for what was cached: the dearer.
  // All output is images, also where usage doesn't say so.
  row(mediaB, "gpt-image-2", genaiPackage, ["5", "30", "2"], {
    ...{ image_input: "8", image_output: "30" },
  }),
  row(mediaB, "gpt-image-1.5", repository("2026-07-22"), ["5", "10", "2"], {
    ...{ image_input: "8", image_output: "32" },
  }),
  // All output is audio, also where usage doesn't say so.
  row(mediaB, "gpt-4o-mini-tts", repository("2026-08-21"), ["0.60", "12"], { audio_output: "12" }),
];

// Output limits: the vendor's model pages. Web search: 10 per 1,000. Batch at half the price is
// "typical" there; "fast" is listed for one model only.
const familyC = {
  label: "vendor-c",
  per_web_search: "0.01",
  service_tiers: { batch: "0.5" },
  max_output_tokens: 128_000,
};
// Inference in the USA alone (`inference_geo`), for claude-opus-4-6 and all later models
// (platform.claude.com, "Data residency" and "Pricing", read in November 2026). Code execution is
// billed by the hour, which no answer reports, so it has no price here.
const laterC = { ...familyC, regions: { us: "1.1" } };
const olderOpus = ["claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6"];

const vendorC = [
  row(laterC, "claude-fable-5-1", vendorPages, ["10", "50", "0.25", "12.5", "20"]),
  row(laterC, "claude-opus-5-5", vendorPages, ["4", "20", "0.20", "5", "8"], {
    service_tiers: { ...familyC.service_tiers, fast: "2" },
  }),
  row(laterC, "claude-opus-5", vendorPages, ["5", "25", "0.50", "6.25", "10"]),
  row(laterC, olderOpus, repository("2026-07-29"), ["5", "25", "0.50", "6.25", "10"]),
  // Write prices are derived as 1.25 and 2 times the input.
  row(laterC, "claude-sonnet-5-5", audited, ["2", "10", "0.20", "2.5", "4"], {
    valid_to: "2026-10-06",
  }),
  row(laterC, "claude-sonnet-5-5", vendorPages, ["2", "10", "0.10", "2.5", "4"], {
    valid_from: "2026-10-07",
  }),
  row(laterC, "claude-sonnet-5", vendorPages, ["2", "10", "0.20", "2.5", "4"]),
  row(laterC, "claude-sonnet-4-6", repository("2026-07-29"), ["3", "15", "0.30", "3.75", "6"]),
  // The upper tier's write prices are derived as 1.25 and 2 times its input.
  row(laterC, "claude-haiku-5-5", vendorPages, ["0.10", "0.50", "0.01", "0.125", "0.20"], {
    ...above(100_000, ["0.50", "2.50", "0.05", "0.625", "1.00"]),
  }),
  // Older than regions, which the vendor refuses for it.
  row(familyC, "claude-haiku-4-5", repository("2026-07-29"), ["1", "5", "0.10", "1.25", "2"], {
    max_output_tokens: 64_000,
  }),
];

// Grounding by searches and by maps: 14 per 1,000 queries (maps: TokenMeter 0.14.0, November 2026).
// Running code costs its tokens alone. Batch and flex at half the price are "typical".
const familyD = {
  label: "vendor-d",
  per_web_search: "0.014",
  per_maps_query: "0.014",
  service_tiers: { batch: "0.5", flex: "0.5" },
};
// Generation 2.5 is billed per grounded prompt, 35 per 1,000 for searches and 25 for maps
// (TokenMeter 0.13.0 and 0.14.0, quoting the vendor's price page).
const familyD25 = {
  ...familyD,
  per_web_search: "0.035",
  per_maps_query: "0.025",
  max_output_tokens: 65_536,
};
// Priority is known for these models alone (genai-prices 0.1.8, citing the vendor's price page).
const dearerPriority = {
  ...familyD,
  service_tiers: { ...familyD.service_tiers, priority: "1.8" },
};
const readOn20261007 = { source: "vendor's model pages", checked_on: "2026-10-07" };
const halfPrice = ["0.75", "3.75", "0.075"];
const fullPrice = ["1.5", "7.5", "0.15"];
const untilNewYear = { valid_to: "2026-12-31" };
const fromNewYear = { valid_from: "2027-01-01" };

const vendorD = [
  row(familyD, "gemini-4-argon", tracker, ["2", "10", "0.10"], { valid_to: "2026-11-30" }),
  row(familyD, "gemini-4-argon", tracker, ["4", "20", "0.20"], { valid_from: "2026-12-01" }),
  row(dearerPriority, "gemini-3.8-flash", readOn20261007, halfPrice, untilNewYear),
  row(dearerPriority, "gemini-3.8-flash", genaiPackage, fullPrice, fromNewYear),
  row(dearerPriority, "gemini-3.7-flash", repository("2026-08-13"), halfPrice, untilNewYear),
  row(familyD, "gemini-3.6-flash", repository("2026-08-13"), halfPrice, untilNewYear),
  row(dearerPriority, "gemini-3.7-flash", repository("2026-08-13"), fullPrice, fromNewYear),
  row(familyD, "gemini-3.6-flash", repository("2026-08-13"), fullPrice, fromNewYear),
  row(familyD, "gemini-3.5-flash-lite", repository("2026-07-22"), ["0.30", "2.5", "0.03"]),
  row(familyD, "gemini-3.1-pro-preview", repository("2026-02-23"), ["2", "12", "0.20"], {
    ...above(200_000, ["4", "18", "0.4"]),
    max_output_tokens: 65_536,
  }),
  row(familyD25, "gemini-2.5-pro", repository("2025-10-31"), ["1.25", "10", "0.125"], {
    ...above(200_000, ["2.5", "15", "0.25"]),
  }),
  row(familyD25, "gemini-2.5-flash", repository("2025-10-31"), ["0.30", "2.5", "0.03"], {
    ...{ audio_input: "1.00", cached_audio_input: "0.10" },
  }),
  row(familyD25, "gemini-2.5-flash-lite", repository("2025-10-31"), ["0.10", "0.40", "0.01"], {
    ...{ audio_input: "0.30", cached_audio_input: "0.03" },
  }),
  row(
    familyD,
    ["gemini-3-pro-image", "gemini-3-pro-image-preview"],
    repository("2026-07-22"),
    ["2", "12"],
    { image_output: "120" },
  ),
  row(
    familyD,
    ["gemini-3.1-flash-image", "gemini-3.1-flash-image-preview"],
    genaiPackage,
    ["0.5", "3"],
    { image_output: "60" },
  ),
  row(familyD, "gemini-3.1-flash-lite-image", genaiPackage, ["0.25", "1.5"], {
    image_output: "30",
  }),
  row(familyD25, "gemini-2.5-flash-image", repository("2026-07-22"), ["0.30", "2.5"], {
    image_output: "30",
  }),
];

const plainD = { label: "vendor-d" };
const plainG = { label: "vendor-g" };

const dalle3 = {
  "standard/1024x1024": "0.04",
  "standard/1024x1792": "0.08",
  "standard/1792x1024": "0.08",
  "hd/1024x1024": "0.08",
  "hd/1024x1792": "0.12",
  "hd/1792x1024": "0.12",
  // For requests without a quality, which is then standard.
  "1024x1024": "0.04",
  "1024x1792": "0.08",
  "1792x1024": "0.08",
  "hd": "0.08",
  "standard": "0.04",
};
const dalle2 = { "256x256": "0.016", "512x512": "0.018", "1024x1024": "0.02" };
const transcribers = ["gpt-4o-transcribe", "gpt-4o-transcribe-diarize"];

/** Models for images and audio, and embedding models. */
const media = [
  // Cached text is 1.25 and cached images 2.5; usage doesn't tell them apart: the dearer counts.
  row(mediaB, "gpt-image-1", genaiPackage, ["5", "40", "2.5"], {
    ...{ image_input: "10", image_output: "40" },
  }),
  row(mediaB, "gpt-image-1-mini", genaiPackage, ["2", "8", "0.25"], {
    ...{ image_input: "2.5", image_output: "8" },
  }),
  row(mediaB, "dall-e-3", litellmTable, [], { per_image: dalle3 }),
  row(mediaB, "dall-e-2", litellmTable, [], { per_image: dalle2 }),
  row(mediaB, "tts-1", litellmTable, [], { per_million_characters: "15" }),
  row(mediaB, "tts-1-hd", litellmTable, [], { per_million_characters: "30" }),
  row(mediaB, transcribers, genaiPackage, ["2.5", "10"], { audio_input: "6" }),
  row(mediaB, "gpt-4o-mini-transcribe", genaiPackage, ["1.25", "5"], { audio_input: "3" }),
  // Of the chat dialect. OpenAI's pages of these models give their longest answer.
  row(mediaB, ["gpt-audio", "gpt-audio-1.5"], genaiPackage, ["2.5", "10"], {
    ...{ audio_input: "32", audio_output: "64", max_output_tokens: 16_384 },
  }),
  row(mediaB, "gpt-audio-mini", genaiPackage, ["0.6", "2.4"], {
    ...{ audio_input: "10", audio_output: "20", max_output_tokens: 16_384 },
  }),
  // 0.27 and 0.36 an hour.
  row(mediaB, "gpt-transcribe", genaiPackage, [], { per_minute: "0.0045" }),
  row(mediaB, "whisper-1", genaiPackage, [], { per_minute: "0.006" }),
  row(mediaB, "text-embedding-3-small", genaiPackage, ["0.02"]),
  row(mediaB, "text-embedding-3-large", genaiPackage, ["0.13"]),
  row(mediaB, "text-embedding-ada-002", genaiPackage, ["0.10"]),
  row(plainD, "gemini-embedding-001", genaiPackage, ["0.15"]),
  row(plainD, "gemini-embedding-2", genaiPackage, ["0.2"], {
    ...{ audio_input: "6.5", image_input: "0.45" },
  }),
  row(plainD, "imagen-4.0-fast-generate-001", litellmPrinted, [], { per_image: "0.02" }),
  row(plainD, "imagen-4.0-generate-001", litellmPrinted, [], { per_image: "0.04" }),
  row(plainD, "imagen-4.0-ultra-generate-001", litellmPrinted, [], { per_image: "0.06" }),
  // All output is audio, also where usage doesn't say so.
  row(plainD, "gemini-2.5-flash-preview-tts", genaiPackage, ["0.50", "10"], { audio_output: "10" }),
  row(plainD, "gemini-2.5-pro-preview-tts", genaiPackage, ["1", "20"], { audio_output: "20" }),
  row(plainG, "grok-imagine-image", resellers, [], { per_image: "0.02" }),
  row(plainG, "grok-imagine-image-quality", resellers, [], { per_image: "0.05" }),
  // 4.20 until May 2026; the day of the change isn't known, so the row has no first day.
  row(plainG, "tts", xaiUsage, [], { per_million_characters: "15" }),
  // Their hosts set prices of their own; these stand in where the vendor's list has none.
  row(familyA, "black-forest-labs/FLUX.1-schnell", costliestHost, [], { per_image: "0.003" }),
  row(familyA, "black-forest-labs/FLUX.1-dev", costliestHost, [], { per_image: "0.025" }),
];

// Web and X search and runs of code 5 per 1,000 calls, searches of collections 2.50 (docs.x.ai,
// "Tools Pricing", read in November 2026). Its higher prices begin at the threshold itself.
const familyG = {
  ...plainG,
  per_web_search: "0.005",
  per_x_search: "0.005",
  per_code_session: "0.005",
  per_file_search: "0.0025",
};
const dearG = {
  ...familyG,
  context_tiers: [{ from_input_tokens: 200_000, ...tokens(["4", "12", "1.0"]) }],
};

const vendorG = [
  row(dearG, "grok-4.7", articles, ["2", "6", "0.50"]),
  row(dearG, "grok-4.6", genaiPackage, ["2", "6", "0.50"]),
  row(familyG, "grok-4.3", genaiPackage, ["1.25", "2.5", "0.20"], {
    context_tiers: [{ from_input_tokens: 200_000, ...tokens(["2.5", "5", "0.4"]) }],
  }),
];

// The aggregator reports its charges and lists prices. Where it does neither, this stands in, at
// the dearest base prices of this table.
const vendorF: PriceEntry = {
  label: "vendor-f",
  models: ["*"],
  input: "10",
  cache_write: "12.5",
  cache_write_1h: "20",
  output: "50",
  fallback: true,
  source: "dearest rows of this table",
  checked_on: "2026-11",
};

/** The bundled prices, in the words of `PRICES_FILE`. */
export const priceTable: readonly PriceEntry[] = [
  ...[vendorA, vendorB, vendorC, vendorD, media, vendorG].flat(),
  vendorF,
];
