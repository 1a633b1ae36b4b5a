import assert from "@std/assert";
import { costOf, upperBoundNanos } from "../pricing.ts";
import { rowsFromAggregatorModels, rowsFromHostedModels } from "./listed_prices.ts";

function aggregator(pricing: unknown, more = {}) {
  return rowsFromAggregatorModels("vendor-f", { data: [{ id: "m", pricing, ...more }] });
}

Deno.test("an aggregator's prices per token are read, zeros of side prices left out", () => {
  const rows = aggregator({
    prompt: "0.00000125",
    completion: "1e-5",
    request: "0",
    image: "0.001",
    web_search: "0.01",
    internal_reasoning: "0",
    input_cache_read: "0.000000125",
    input_cache_write: "0.0000015625",
    input_cache_write_1h: "0.0000025",
    audio: "0.000001",
    input_audio_cache: "0.0000001",
  }, { context_length: 400_000, top_provider: { max_completion_tokens: 128_000 } });
  const [row] = rows;
  assert.equal(rows.length, 1);
  assert.deepEqual(row?.rates, {
    input: 1_250_000n,
    output: 10_000_000n,
    perWebSearch: 10_000_000_000n,
    cacheRead: 125_000n,
    cacheWrite: 1_562_500n,
    cacheWriteLong: 2_500_000n,
    audioInput: 1_000_000n,
    cachedAudioInput: 100_000n,
  });
  assert.deepEqual([row?.contextTokens, row?.maxOutputTokens], [400_000, 128_000]);
});

Deno.test("a free model costs nothing and a variable price gives no row", () => {
  assert.deepEqual(aggregator({ prompt: "0", completion: "0" })[0]?.rates, {
    input: 0n,
    output: 0n,
  });
  assert.deepEqual(aggregator({ prompt: "-1", completion: "-1" }), []);
  assert.deepEqual(aggregator({ prompt: "0.1", completion: "-1" }), []);
  assert.deepEqual(aggregator({ prompt: "0.1" }), []);
});

Deno.test("pictures that a model draws have their own price, where text is free too", () => {
  const drawn = { input: 0, output: 1290, imageOutput: 1290 };
  for (const text of ["0", "0.0000025"]) {
    const [row] = aggregator({ prompt: text, completion: text, image_output: "0.00003" });
    const { nanos } = costOf(drawn, row!);
    assert.equal(nanos, 38_700_000n);
    assert.ok(upperBoundNanos(row!, { inputTokens: 10, maxOutputTokens: 1290 }) >= nanos);
  }
});

Deno.test("digits beyond a pico-dollar round up, and a discount is taken off", () => {
  const rates = aggregator({ prompt: "0.0000000000001", completion: "0.000003", discount: 0.25 })[0]
    ?.rates;
  assert.deepEqual(rates, { input: 1n, output: 2_250_000n });
});

Deno.test("long-context overrides become tiers, later entries winning by key", () => {
  const row = aggregator({
    prompt: "0.000001",
    completion: "0.000002",
    input_cache_read: "0.0000001",
    overrides: [
      { min_prompt_tokens: 200_000, prompt: "0.000002", completion: "0.000003" },
      { min_prompt_tokens: 400_000, prompt: "0.000004" },
    ],
  })[0];
  assert.deepEqual(row?.contextTiers, [
    {
      threshold: 200_000,
      inclusive: false,
      rates: { input: 2_000_000n, output: 3_000_000n, cacheRead: 100_000n },
    },
    {
      threshold: 400_000,
      inclusive: false,
      rates: { input: 4_000_000n, output: 3_000_000n, cacheRead: 100_000n },
    },
  ]);
});

Deno.test("a model with more overrides than lists have gets no row, and takes no time", () => {
  const overrides = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ min_prompt_tokens: at + 1, prompt: "2" }));
  const listed = (count: number) =>
    aggregator({ prompt: "1", completion: "1", overrides: overrides(count) });
  assert.equal(listed(16)[0]?.contextTiers.length, 16);
  // With every tier made of all overrides, these would take minutes.
  assert.deepEqual(listed(50_000), []);
});

Deno.test("prices by time of day count at their dearest", () => {
  const row = aggregator({
    prompt: "0.000002",
    completion: "0.000002",
    overrides: [{ utc_start: 1630, utc_end: 30, prompt: "0.000001", completion: "0.000005" }],
  })[0];
  assert.deepEqual(row?.rates, { input: 2_000_000n, output: 5_000_000n });
  assert.deepEqual(row?.contextTiers, []);
});

Deno.test("a hosted model costs what its dearest live provider asks, a chosen one what that asks", () => {
  const rows = rowsFromHostedModels("vendor-a", {
    object: "list",
    data: [
      {
        id: "org/Model",
        providers: [
          { provider: "cheap", status: "live", pricing: { input: 0.1, output: 7.5e-7 } },
          { provider: "dear", status: "live", pricing: { input: 0.3, output: 0.2 } },
          { provider: "broken", status: "error", pricing: { input: 9, output: 9 } },
          { provider: "silent", status: "live" },
        ],
      },
      { id: "org/Unpriced", providers: [{ provider: "p", status: "live" }] },
      { id: "org/NoProviders" },
    ],
  });
  assert.deepEqual(rows.map((row) => [row.model, row.rates]), [
    ["org/Model", { input: 300_000n, output: 200_000n }],
    ["org/Model:cheap", { input: 100_000n, output: 1n }],
    ["org/Model:dear", { input: 300_000n, output: 200_000n }],
  ]);
});

Deno.test("a list of any other form gives no rows", () => {
  for (
    const body of [null, undefined, 5, "x", [], {}, { data: {} }, { data: [null, 1, "x", [], {}] }]
  ) {
    assert.deepEqual(rowsFromAggregatorModels("vendor-f", body), []);
    assert.deepEqual(rowsFromHostedModels("vendor-a", body), []);
  }
  assert.deepEqual(aggregator(null), []);
  assert.deepEqual(aggregator({ prompt: {}, completion: [] }), []);
  assert.deepEqual(
    aggregator({ prompt: "1", completion: "1", overrides: [null, 1] })[0]?.contextTiers,
    [],
  );
});
