import assert from "@std/assert";
import { calcPrice } from "@pydantic/genai-prices";
import { roundPicoToNano } from "../../src/base/money.ts";
import { costOf, type PriceRow } from "../../src/pricing/pricing.ts";
import type { Usage } from "../../src/shared/usage.ts";
import type { Dimension } from "../../src/pricing/usage_parts.ts";
import { knownDiscrepancies } from "../../src/pricing/sources/known_discrepancies.ts";
import { bundledPrices } from "../../src/pricing/table/prices.ts";
import { publicProviders } from "../../src/pricing/sources/public_prices.ts";

/**
 * Every row of the bundled table against the public package's own arithmetic. What may differ, and
 * why, stands in src/pricing/sources/known_discrepancies.ts; a new difference fails, and so does an
 * explanation that explains nothing any more.
 */
const now = new Date("2026-11-21T12:00:00Z");

/** Models that the package doesn't have. */
const notInPackage = [
  "vendor-a/black-forest-labs/FLUX.1-dev",
  "vendor-a/black-forest-labs/FLUX.1-schnell",
  "vendor-b/dall-e-2",
  "vendor-b/dall-e-3",
  "vendor-b/gpt-6.1-sol",
  "vendor-b/gpt-6.1-terra",
  "vendor-b/tts-1",
  "vendor-b/tts-1-hd",
  "vendor-c/claude-haiku-5-5",
  "vendor-d/gemini-4-argon",
  "vendor-d/imagen-4.0-fast-generate-001",
  "vendor-d/imagen-4.0-generate-001",
  "vendor-d/imagen-4.0-ultra-generate-001",
  "vendor-f/*",
  "vendor-g/grok-4.7",
  "vendor-g/grok-imagine-image",
  "vendor-g/grok-imagine-image-quality",
  "vendor-g/tts",
];

Deno.test("every bundled row costs what the public package computes, but for what is explained", () => {
  const missing = new Set<string>();
  const used = new Set<string>();
  const counts = { rows: 0, cases: 0, equal: 0, explained: 0, rowsEqual: 0 };
  for (const row of bundledPrices()) {
    if (theirCost(row, { input: 1, output: 0 }, now) === undefined) {
      missing.add(`${row.label}/${row.model}`);
      continue;
    }
    counts.rows++;
    const explainedBefore = counts.explained;
    for (const at of instantsOf(row)) {
      for (const promptTokens of promptSizes) {
        for (const { usage, dimensions } of usagesOf(promptTokens)) {
          const ours = costOf(usage, row).nanos;
          const theirs = theirCost(row, usage, at);
          counts.cases++;
          if (ours === theirs) {
            counts.equal++;
            continue;
          }
          const explanations = explanationsOf(row, promptTokens, dimensions);
          const found = `${row.label}/${row.model} at ${at.toISOString()}: ${
            JSON.stringify(usage)
          } costs ${ours}, in the package ${theirs}`;
          assert.ok(explanations.length > 0, found);
          for (const one of explanations) used.add(`${one.why} ${row.model}`);
          counts.explained++;
        }
      }
    }
    if (counts.explained === explainedBefore) counts.rowsEqual++;
  }
  assert.deepEqual([...missing].sort(), notInPackage);
  const stale = knownDiscrepancies.flatMap((one) =>
    (one.models ?? []).filter((model) => !used.has(`${one.why} ${model}`)).map((model) =>
      `${model}: ${one.why}`
    )
  );
  assert.deepEqual(stale, [], "these differences are gone: take their explanations out");
  assert.ok(counts.rows > 40 && counts.equal > 7000, JSON.stringify(counts));
});

/** Around every threshold of either side, and sizes whose costs are no whole nano-dollars. */
const promptSizes = [100_000, 200_000, 272_000]
  .flatMap((size) => [size - 1, size, size + 1]).concat(1, 333, 1_000_003);

/** One usage per dimension with as little else in it as can be, and one with everything. */
function usagesOf(input: number): { usage: Usage; dimensions: Dimension[] }[] {
  const output = 997;
  const part = (dimension: Dimension, usage: Partial<Usage>) => ({
    usage: { input, output: 0, ...usage },
    dimensions: [dimension],
  });
  const some = Math.floor(input / 8);
  return [
    part("input", {}),
    part("cacheRead", { cacheRead: input }),
    part("cacheWrite", { cacheWrite: input }),
    part("cacheWriteLong", { cacheWriteLong: input }),
    part("audioInput", { audioInput: input }),
    part("cachedAudioInput", { cacheRead: input, audioInput: input, cachedAudioInput: input }),
    part("imageInput", { imageInput: input }),
    { usage: { input, output }, dimensions: ["input", "output"] },
    { usage: { input, output, reasoning: output }, dimensions: ["input", "reasoning"] },
    { usage: { input, output, audioOutput: output }, dimensions: ["input", "audioOutput"] },
    { usage: { input, output, imageOutput: output }, dimensions: ["input", "imageOutput"] },
    { usage: { input, output: 0, webSearches: 3 }, dimensions: ["input", "perWebSearch"] },
    {
      usage: {
        ...{ input, cacheRead: some, cacheWrite: some, cacheWriteLong: some, audioInput: some },
        ...{ imageInput: some, output, reasoning: 100, audioOutput: 50, imageOutput: 50 },
        cachedAudioInput: 0,
      },
      dimensions: ["input", "output", "cacheRead", "cacheWrite", "cacheWriteLong", "audioInput"],
    },
  ];
}

/** Now, where the row holds, and its first and last moment. */
function instantsOf({ validFrom, validTo }: PriceRow): Date[] {
  const last = validTo && new Date(validTo.getTime() - 1);
  const isNow = (validFrom === undefined || validFrom <= now) &&
    (last === undefined || now <= last);
  return [validFrom, last, isNow ? now : undefined].filter((at) => at !== undefined);
}

function explanationsOf(row: PriceRow, promptTokens: number, dimensions: readonly Dimension[]) {
  return knownDiscrepancies.filter((one) =>
    (one.label ?? row.label) === row.label && (one.models?.includes(row.model) ?? true) &&
    (one.promptTokens === undefined || one.promptTokens === promptTokens) &&
    (one.dimensions === undefined || one.dimensions.some((each) => stands(dimensions, each)))
  );
}

/** A dimension without a price of its own costs what another does, and differs with it. */
function stands(dimensions: readonly Dimension[], explained: Dimension): boolean {
  const others: Partial<Record<Dimension, readonly Dimension[]>> = {
    input: ["cacheWrite", "cacheWriteLong", "audioInput", "imageInput"],
    cacheRead: ["cachedAudioInput"],
    output: ["reasoning", "audioOutput", "imageOutput"],
  };
  return [explained, ...others[explained] ?? []].some((each) => dimensions.includes(each));
}

/** In nano-dollars; undefined when the package has no price. Its numbers are floats. */
function theirCost(row: PriceRow, usage: Usage, at: Date): bigint | undefined {
  const written = (usage.cacheWrite ?? 0) + (usage.cacheWriteLong ?? 0);
  for (const providerId of publicProviders[row.label] ?? []) {
    for (const name of [row.model, row.model.split("/").at(-1)!]) {
      const found = calcPrice(
        {
          input_tokens: usage.input,
          output_tokens: usage.output,
          cache_read_tokens: usage.cacheRead ?? 0,
          cache_write_tokens: written,
          cache_write_1h_tokens: usage.cacheWriteLong ?? 0,
          input_audio_tokens: usage.audioInput ?? 0,
          cache_audio_read_tokens: usage.cachedAudioInput ?? 0,
          input_image_tokens: usage.imageInput ?? 0,
          cache_image_read_tokens: 0,
          output_reasoning_tokens: usage.reasoning ?? 0,
          output_audio_tokens: usage.audioOutput ?? 0,
          output_image_tokens: usage.imageOutput ?? 0,
          web_searches: usage.webSearches ?? 0,
        },
        name,
        { providerId, timestamp: at },
      );
      // Their floats are whole pico-dollars but for the noise.
      if (found) return roundPicoToNano(BigInt(Math.round(found.total_price * 1e12)));
    }
  }
  return undefined;
}
