import type { PriceRow } from "../pricing.ts";
import type { Dimension } from "../usage_parts.ts";
import type { PriceDifference } from "./price_comparison.ts";
import { operatorSource } from "../table/prices_file.ts";

/** An intended difference between the bundled table and the public package. */
export interface KnownDiscrepancy {
  /** All vendors when absent. */
  label?: string;
  models?: readonly string[];
  dimensions?: readonly Dimension[];
  /** Only prompts of exactly this size. */
  promptTokens?: number;
  why: string;
}

/** Returns the first explanation that fits; an operator's own rows are never explained away. */
export function discrepancyOf(
  row: Pick<PriceRow, "label" | "model" | "source">,
  difference: PriceDifference,
): KnownDiscrepancy | undefined {
  if (row.source === operatorSource) return undefined;
  return knownDiscrepancies.find((one) =>
    (one.label === undefined || one.label === row.label) &&
    (one.models === undefined || one.models.includes(row.model)) &&
    (one.dimensions === undefined || one.dimensions.includes(difference.dimension)) &&
    (one.promptTokens === undefined ||
      one.promptTokens === difference.fromTokens && one.promptTokens === difference.toTokens)
  );
}

/** Bundled rows come from the vendors' own price pages, which take precedence over the package. */
export const knownDiscrepancies: readonly KnownDiscrepancy[] = [
  {
    dimensions: ["perXSearch", "perFileSearch", "perCodeSession", "perMapsQuery"],
    why: "The package has no prices of hosted tools but web search.",
  },
  {
    label: "vendor-g",
    dimensions: ["perWebSearch"],
    why: "Searches cost 5 per 1,000 calls (docs.x.ai); the package has no price for them.",
  },
  {
    label: "vendor-b",
    models: [
      "gpt-6-astra",
      "gpt-5.6-sol",
      "gpt-5.6-terra",
      "gpt-5.6-luna",
      "gpt-5.5",
      "gpt-5.4",
    ],
    promptTokens: 272_000,
    why:
      "The higher prices hold above 272,000 tokens by the vendor's page; the package lets them begin at exactly 272,000 for these models.",
  },
  {
    label: "vendor-b",
    models: ["gpt-image-2", "gpt-image-1.5"],
    dimensions: ["cacheRead"],
    why:
      "Cached text is 1.25 and cached images 2; usage doesn't tell them apart, so the dearer counts. The package takes all for text.",
  },
  {
    label: "vendor-b",
    models: ["gpt-image-1", "gpt-image-1-mini"],
    dimensions: ["cacheRead"],
    why:
      "Usage doesn't tell cached text and cached images apart, so the dearer counts; the package takes all for text.",
  },
  {
    label: "vendor-c",
    models: ["claude-sonnet-5-5"],
    dimensions: ["cacheRead"],
    why:
      "The package has no claude-sonnet-5-5: it takes the name for claude-sonnet-5 by its beginning. Cache reads cost 0.10 from 2026-10-07.",
  },
  {
    label: "vendor-d",
    models: [
      "gemini-3.8-flash",
      "gemini-3.7-flash",
      "gemini-3.6-flash",
      "gemini-3.5-flash-lite",
      "gemini-3.1-pro-preview",
      "gemini-2.5-pro",
      "gemini-2.5-flash",
      "gemini-2.5-flash-lite",
      "gemini-3-pro-image",
      "gemini-3-pro-image-preview",
      "gemini-3.1-flash-image",
      "gemini-3.1-flash-image-preview",
      "gemini-3.1-flash-lite-image",
      "gemini-2.5-flash-image",
    ],
    dimensions: ["perWebSearch"],
    why:
      "Grounding costs 14 per 1,000 queries, 35 per 1,000 prompts in generation 2.5; the package has no price for it.",
  },
  {
    label: "vendor-a",
    models: [
      "deepseek-ai/DeepSeek-V4-Pro",
      "deepseek-v4-pro",
      "deepseek-ai/DeepSeek-V4-Flash",
      "deepseek-v4-flash",
    ],
    dimensions: ["input", "output", "cacheRead"],
    why:
      "The maker's first-party price, used only where a host lists none; the package has later prices of the maker that change with the time of day.",
  },
];
