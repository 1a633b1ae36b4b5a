import type { PriceEntry } from "./price_row.ts";
import { articles, genaiPackage, litellm, repository } from "../sources/price_sources.ts";

// Batch and flex at half, priority and fast at double the price are "typical", not
// verified for each model.
const mediaB = {
  label: "vendor-b",
  service_tiers: { batch: "0.5", flex: "0.5", priority: "2", fast: "2" },
};
// Web search: 10 per 1,000 (§5). File search 2.50 per 1,000 calls, a code container of 1 GB 0.03 a
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

/** Bundled prices of vendor-b. */
export const vendorBPrices: readonly PriceEntry[] = [
  {
    ...familyB55,
    models: ["gpt-6-astra"],
    input: "10",
    cache_read: "1",
    cache_write: "12.5",
    output: "50",
    context_tiers: [
      {
        above_input_tokens: 272_000,
        input: "20",
        cache_read: "2",
        cache_write: "25",
        output: "75",
      },
    ],
    ...genaiPackage,
  },
  {
    ...familyB55,
    models: ["gpt-6-sol"],
    input: "2",
    cache_read: "0.20",
    cache_write: "2.5",
    output: "10",
    context_tiers: [
      {
        above_input_tokens: 272_000,
        input: "4",
        cache_read: "0.4",
        cache_write: "5",
        output: "15",
      },
    ],
    ...genaiPackage,
  },
  {
    ...familyB55,
    models: ["gpt-6.1-sol"],
    input: "2",
    cache_read: "0.10",
    output: "10",
    ...litellm,
  },
  {
    ...familyB55,
    models: ["gpt-6.1-terra"],
    input: "1",
    cache_read: "0.05",
    cache_write: "1.25",
    cache_write_1h: "2.5",
    output: "5",
    // The upper tier's write prices aren't listed; they are derived as 1.25 and 2.5 times its input.
    context_tiers: [{
      above_input_tokens: 272_000,
      input: "2",
      cache_read: "0.10",
      cache_write: "2.5",
      cache_write_1h: "5",
      output: "7.5",
    }],
    ...articles,
  },
  {
    ...familyB55,
    models: ["gpt-6-luna"],
    input: "0.10",
    cache_read: "0.01",
    cache_write: "0.125",
    output: "0.50",
    context_tiers: [{
      above_input_tokens: 272_000,
      input: "0.2",
      cache_read: "0.02",
      cache_write: "0.25",
      output: "0.75",
    }],
    ...genaiPackage,
  },
  {
    ...familyB55,
    // 5 / 30 until September 2026; the day of the change isn't known, so the row has no first day.
    models: ["gpt-5.6-sol"],
    input: "4",
    cache_read: "0.40",
    cache_write: "5",
    output: "20",
    context_tiers: [
      {
        above_input_tokens: 272_000,
        input: "8",
        cache_read: "0.8",
        cache_write: "10",
        output: "30",
      },
    ],
    ...genaiPackage,
  },
  {
    ...familyB55,
    models: ["gpt-5.6-terra"],
    input: "2",
    cache_read: "0.20",
    cache_write: "2.5",
    output: "12",
    context_tiers: [
      {
        above_input_tokens: 272_000,
        input: "4",
        cache_read: "0.4",
        cache_write: "5",
        output: "18",
      },
    ],
    valid_from: "2026-07-30",
    ...repository("2026-08-02"),
  },
  {
    ...familyB55,
    models: ["gpt-5.6-luna"],
    input: "0.20",
    cache_read: "0.02",
    cache_write: "0.25",
    output: "1.20",
    context_tiers: [{
      above_input_tokens: 272_000,
      input: "0.4",
      cache_read: "0.04",
      cache_write: "0.5",
      output: "1.8",
    }],
    valid_from: "2026-07-30",
    ...repository("2026-08-02"),
  },
  {
    ...familyB55,
    models: ["gpt-5.5"],
    input: "5",
    cache_read: "0.50",
    output: "30",
    context_tiers: [{ above_input_tokens: 272_000, input: "10", cache_read: "1", output: "45" }],
    ...genaiPackage,
  },
  {
    ...familyB54,
    models: ["gpt-5.4"],
    input: "2.5",
    cache_read: "0.25",
    output: "15",
    context_tiers: [{ above_input_tokens: 272_000, input: "5", cache_read: "0.5", output: "22.5" }],
    ...repository("2026-03-06"),
  },
  {
    ...familyB54,
    models: ["gpt-5.4-mini"],
    input: "0.75",
    cache_read: "0.075",
    output: "4.5",
    ...repository("2026-03-18"),
  },
  {
    ...familyB54,
    models: ["gpt-5.4-nano"],
    input: "0.20",
    cache_read: "0.02",
    output: "1.25",
    ...repository("2026-03-18"),
  },
  {
    ...familyB,
    models: ["gpt-5-mini"],
    input: "0.25",
    cache_read: "0.025",
    output: "2",
    ...repository("2025-11-13"),
  },
  {
    ...familyB,
    models: ["gpt-4.1"],
    input: "2",
    cache_read: "0.50",
    output: "8",
    max_output_tokens: 32_768,
    ...repository("2025-07-04"),
  },
  {
    ...familyB,
    models: ["gpt-4o-mini"],
    input: "0.15",
    cache_read: "0.075",
    output: "0.60",
    max_output_tokens: 16_384,
    ...repository("2025-07-04"),
  },
  {
    ...mediaB,
    // Cached text is 1.25 and cached images 2; usage doesn't tell them apart, so the dearer counts.
    models: ["gpt-image-2"],
    input: "5",
    image_input: "8",
    cache_read: "2",
    // All output is images, also where usage doesn't say so.
    output: "30",
    image_output: "30",
    ...genaiPackage,
  },
  {
    ...mediaB,
    models: ["gpt-image-1.5"],
    input: "5",
    image_input: "8",
    cache_read: "2",
    output: "10",
    image_output: "32",
    ...repository("2026-07-22"),
  },
  {
    ...mediaB,
    models: ["gpt-4o-mini-tts"],
    input: "0.60",
    // All output is audio, also where usage doesn't say so.
    output: "12",
    audio_output: "12",
    ...repository("2026-08-21"),
  },
];
