import assert from "@std/assert";
import type { InteractionSummary } from "../shared/interaction.ts";
import { type BillableUsage, costOf } from "../pricing/pricing.ts";
import { type PriceFields, readPriceRow } from "../pricing/table/price_row.ts";
import { millionNames, pieceNames } from "../pricing/usage_parts.ts";
import type { Usage } from "../shared/usage.ts";
import { createRegistry } from "../vendors/registry.ts";
import { billedLines, type CostLines, costLines } from "./cost_lines.ts";
import { pricedUsageText } from "./repricing.ts";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import { Random } from "../../tests/support/random.ts";

const registry = createRegistry({}, []);
const version = {
  version: "v1",
  label: "vendor-b",
  model: "gpt-x",
  fieldsText: '{"input":"2","output":"8","cache_read":"0.5"}',
  source: "a test",
  checkedOn: null,
};

function summary(more: Partial<InteractionSummary>): InteractionSummary {
  return interactionRow("txn_1", {
    billingBasis: "reported",
    inputTokens: 1000,
    cacheReadTokens: 400,
    outputTokens: 100,
    costNanos: 2_200_000n,
    priceVersion: "v1",
    ...more,
  });
}

Deno.test("the lines come to the recorded cost", () => {
  const priced = '{"input":1000,"cacheRead":400,"output":100}';
  for (const pricedUsageText of [priced, null]) {
    const found = costLines({ summary: summary({}), pricedUsageText }, version, registry);
    assert.equal(found?.isExact, true);
    assert.deepEqual(
      found?.lines.map(({ dimension, count, pico }) => [dimension, count, pico]),
      [
        ["input", 600, 1_200_000_000n],
        ["cacheRead", 400, 200_000_000n],
        ["output", 100, 800_000_000n],
      ],
    );
  }
});

Deno.test("the counts of a record without its usage are priced, written and reasoned tokens too", () => {
  const withWrites = {
    ...version,
    fieldsText: '{"input":"2","output":"8","cache_write":"2.5","reasoning":"4"}',
  };
  const counts = {
    ...{ inputTokens: 1000, cacheReadTokens: null, cacheWriteTokens: 400 },
    ...{ outputTokens: 100, reasoningTokens: 40, costNanos: 2_840_000n },
  };
  const found = costLines(
    { summary: summary(counts), pricedUsageText: null },
    withWrites,
    registry,
  );
  assert.deepEqual(
    found?.lines.map(({ dimension, count, pico }) => [dimension, count, pico]),
    [
      ["input", 600, 1_200_000_000n],
      ["cacheWrite", 400, 1_000_000_000n],
      ["output", 60, 480_000_000n],
      ["reasoning", 40, 160_000_000n],
    ],
  );
});

Deno.test("a part of a minute is shown at the listed price of a minute", () => {
  const perMinute = { ...version, fieldsText: '{"per_minute":"0.0061"}' };
  // 7 s: 0.11667 minutes, of which the cost is rounded.
  const call = {
    summary: summary({ costNanos: 711_667n }),
    pricedUsageText: '{"input":0,"output":0,"seconds":7}',
  };
  const [line] = billedLines(call.summary, costLines(call, perMinute, registry));
  assert.deepEqual([line?.dimension, line?.unitPico, line?.nanos], [
    ...["per_minute", 6_100_000_000n, 711_667n],
  ]);
});

Deno.test("lines that come to something else say so", () => {
  const found = costLines(
    { summary: summary({ costNanos: 5n }), pricedUsageText: null },
    version,
    registry,
  );
  assert.equal(found?.isExact, false);
});

Deno.test("without a price, a cost or a readable record there are no lines", () => {
  const call = { summary: summary({}), pricedUsageText: null };
  assert.equal(costLines(call, undefined, registry), undefined);
  assert.equal(
    costLines({ ...call, summary: summary({ costNanos: null }) }, version, registry),
    undefined,
  );
  assert.equal(costLines({ ...call, pricedUsageText: "{" }, version, registry), undefined);
  assert.equal(costLines(call, { ...version, fieldsText: '{"x":1}' }, registry), undefined);
});

/** A usage with something of every dimension that a price row may have. */
function everyUsage(random: Random): BillableUsage {
  const some = () => random.below(5000);
  const [read, write, long, audio, image] = [some(), some(), some(), some(), some()];
  const [reasoning, audioOut, imageOut] = [some(), some(), some()];
  return {
    input: read + write + long + audio + image + some(),
    output: reasoning + audioOut + imageOut + some(),
    ...{ cacheRead: read, cacheWrite: write, cacheWriteLong: long, reasoning },
    ...{ audioInput: audio, cachedAudioInput: Math.min(read, audio, random.below(50)) },
    ...{ imageInput: image, audioOutput: audioOut, imageOutput: imageOut },
    ...{ webSearches: random.below(4), xSearches: random.below(4), fileSearches: random.below(4) },
    ...{ codeSessions: random.below(3), mapsQueries: random.below(3) },
    images: [{ count: 1 + random.below(3), quality: "hd", size: "1024x1024" }],
    characters: some(),
    seconds: random.below(10_000) / 7,
    ...(random.chance(50) ? { serviceTier: random.pick(["flex", "priority"]) } : {}),
    ...(random.chance(30) ? { region: "us" } : {}),
  };
}

/** A price for every dimension, with digits that don't come out even. */
function everyPrice(random: Random): PriceFields {
  const decimals = () => `${random.below(30)}.${1 + random.below(9_999)}`;
  const rates = [...Object.values(millionNames), ...Object.values(pieceNames)].map((name) => [
    name,
    decimals(),
  ]);
  return {
    ...Object.fromEntries(rates),
    per_image: { "hd/1024x1024": decimals(), standard: "0.04" },
    service_tiers: { flex: "0.5", priority: "1.333333" },
    regions: { us: "1.1" },
  };
}

Deno.test("lines add up to the cost to the nano-dollar, whatever is priced", () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 300; seed++) {
    const random = new Random(seed);
    const [usage, fields] = [everyUsage(random), everyPrice(random)];
    const origin = { label: "vendor-b", model: "gpt-x", source: "a test" };
    const row = readPriceRow(origin, fields, "gpt-x");
    const { nanos: costNanos } = costOf(usage, row);
    const call = {
      summary: summary({ costNanos, billingBasis: "reported" }),
      pricedUsageText: pricedUsageText(usage),
    };
    const found = costLines(call, { ...version, fieldsText: JSON.stringify(fields) }, registry);
    const lines = billedLines(call.summary, found);
    assert.equal(lines.reduce((sum, { nanos }) => sum + nanos, 0n), costNanos, `seed ${seed}`);
    for (const { dimension, quantity, unitPico, nanos } of lines) {
      seen.add(dimension);
      // The unit price is rounded to a pico-dollar, the line to a nano-dollar.
      const off = Math.abs(quantity * Number(unitPico) / 1000 - Number(nanos));
      assert.ok(off <= 1 + quantity / 2000, `${dimension} of seed ${seed} is ${off} off`);
    }
    const rounded = lines.filter(({ nanos }) => nanos < 0n);
    assert.deepEqual(rounded, []);
  }
  const every = [...Object.values(millionNames), ...Object.values(pieceNames), "per_image"];
  assert.deepEqual([...seen].sort(), every.sort());
});

Deno.test("a cost that no lines come to is one line, and one of 0 has none", () => {
  const lines = (more: Partial<InteractionSummary>, cost?: CostLines) =>
    billedLines(summary(more), cost).map(({ dimension, quantity, unitPico, nanos }) => [
      dimension,
      quantity,
      unitPico,
      nanos,
    ]);
  const inexact = costLines(
    { summary: summary({ costNanos: 5n }), pricedUsageText: null },
    version,
    registry,
  );
  assert.deepEqual(lines({ costNanos: 5n }, inexact), [["recorded", 1, 5000n, 5n]]);
  assert.deepEqual(lines({ costNanos: 5n }), [["recorded", 1, 5000n, 5n]]);
  const byVendor = { costNanos: 7n, billingBasis: "vendor_cost" } as const;
  assert.deepEqual(lines(byVendor, inexact), [["vendor_cost", 1, 7000n, 7n]]);
  const disputed = { costNanos: 9n, billingBasis: "disputed" } as const;
  assert.deepEqual(lines(disputed, inexact), [["set_aside", 1, 9000n, 9n]]);
  assert.deepEqual(lines({ costNanos: 0n }, inexact), []);
  assert.deepEqual(lines({ costNanos: null }), []);
});

Deno.test("models that took part beside the asked one have lines at their own prices", () => {
  const usage: Usage = {
    ...{ input: 3000, output: 300 },
    otherModels: [{ model: "small", usage: { input: 1000, output: 100 } }],
  };
  const other = readPriceRow(
    { label: "vendor-b", model: "small", source: "a test" },
    { input: "1", output: "4" },
    "small",
  );
  const call = {
    // 2,000 × $2 + 200 × $8 and 1,000 × $1 + 100 × $4, each per million.
    summary: summary({ costNanos: 7_000_000n }),
    pricedUsageText: pricedUsageText(usage),
  };
  const found = costLines(
    call,
    version,
    registry,
    (model) => model === "small" ? other : undefined,
  );
  assert.deepEqual(
    billedLines(call.summary, found).map(({ dimension, nanos }) => [dimension, nanos]),
    [["input", 4_000_000n], ["output", 1_600_000n], ["input", 1_000_000n], ["output", 400_000n]],
  );
});
