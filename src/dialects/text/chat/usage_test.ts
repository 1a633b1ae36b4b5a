import assert from "@std/assert";
import type { Usage } from "../../../shared/usage.ts";
import { readUsage, writeUsage } from "./usage.ts";

interface Row {
  name: string;
  raw: Record<string, unknown>;
  additive?: boolean;
  read: Usage;
}

const details = (cached: unknown, reasoning: unknown) => ({
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning },
});

const counted = { prompt_tokens: 1, completion_tokens: 1 };
const upstream = (cost: number | null) => ({ cost_details: { upstream_inference_cost: cost } });

const rows: Row[] = [
  {
    name: "the three totals alone: parts that weren't reported are absent",
    raw: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    read: { input: 10, output: 5 },
  },
  {
    name: "zeros that were reported stay zeros",
    raw: { prompt_tokens: 0, completion_tokens: 0, ...details(0, 0) },
    read: { input: 0, output: 0, cacheRead: 0, reasoning: 0 },
  },
  {
    name: "null details are absent",
    raw: { prompt_tokens: 1, completion_tokens: 2, prompt_tokens_details: null, cost: null },
    read: { input: 1, output: 2 },
  },
  {
    name: "every detail",
    raw: {
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_tokens_details: {
        cached_tokens: 40,
        cache_write_tokens: 10,
        audio_tokens: 5,
        image_tokens: 6,
        text_tokens: 89,
      },
      completion_tokens_details: { reasoning_tokens: 20, audio_tokens: 7, image_tokens: 8 },
    },
    read: {
      input: 100,
      output: 50,
      cacheRead: 40,
      cacheWrite: 10,
      audioInput: 5,
      imageInput: 6,
      reasoning: 20,
      audioOutput: 7,
      imageOutput: 8,
    },
  },
  {
    name: "pitfall 111: reasoning beside the completion, as the total says",
    raw: { prompt_tokens: 36, completion_tokens: 10, total_tokens: 736, ...details(0, 690) },
    additive: true,
    read: { input: 36, output: 700, cacheRead: 0, reasoning: 690 },
  },
  {
    name: "a vendor that may add reasoning, but whose total says that it didn't",
    raw: { prompt_tokens: 36, completion_tokens: 700, total_tokens: 736, ...details(0, 690) },
    additive: true,
    read: { input: 36, output: 700, cacheRead: 0, reasoning: 690 },
  },
  {
    name: "other vendors' reasoning is inside, whatever the total says",
    raw: { prompt_tokens: 36, completion_tokens: 10, total_tokens: 736, ...details(0, 690) },
    read: { input: 36, output: 10, cacheRead: 0, reasoning: 690 },
  },
  {
    name: "pitfall 111: more cached than prompt is beside the prompt",
    raw: { prompt_tokens: 12, completion_tokens: 1, ...details(100, 0) },
    additive: true,
    read: { input: 112, output: 1, cacheRead: 100, reasoning: 0 },
  },
  {
    name: "all of the prompt cached",
    raw: { prompt_tokens: 12, completion_tokens: 1, ...details(12, 0) },
    read: { input: 12, output: 1, cacheRead: 12, reasoning: 0 },
  },
  {
    name: "pitfall 112: more reasoning than completion keeps the total",
    raw: { prompt_tokens: 1, completion_tokens: 5, ...details(0, 9) },
    read: { input: 1, output: 5, cacheRead: 0, reasoning: 9 },
  },
  {
    name: "a part that is no count is absent",
    raw: { prompt_tokens: 3, completion_tokens: 7, ...details("x", -1) },
    read: { input: 3, output: 7 },
  },
  {
    name: "cached tokens in Moonshot's form",
    raw: { prompt_tokens: 19, completion_tokens: 13, total_tokens: 32, cached_tokens: 12 },
    read: { input: 19, output: 13, cacheRead: 12 },
  },
  {
    name: "cached tokens in DeepSeek's own form",
    raw: { ...counted, prompt_tokens: 9, prompt_cache_hit_tokens: 8, prompt_cache_miss_tokens: 1 },
    read: { input: 9, output: 1, cacheRead: 8 },
  },
  {
    name: "only one of the totals: the other one is named",
    raw: { completion_tokens: 4, total_tokens: 4 },
    read: { input: 0, output: 4, unreported: "input" },
  },
  {
    name: "a total that is null, beside reasoning",
    raw: { prompt_tokens: 4, completion_tokens: null, ...details(0, 7) },
    read: { input: 4, output: 0, cacheRead: 0, reasoning: 7, unreported: "output" },
  },
  {
    name: "a total that follows from the sum, reasoning included",
    raw: { prompt_tokens: 36, completion_tokens: null, total_tokens: 736, ...details(0, 690) },
    additive: true,
    read: { input: 36, output: 700, cacheRead: 0, reasoning: 690 },
  },
  {
    name: "a prompt that follows from the sum",
    raw: { completion_tokens: 4, total_tokens: 10 },
    read: { input: 6, output: 4 },
  },
  {
    name: "the aggregator's cost, exactly",
    raw: { prompt_tokens: 1, completion_tokens: 1, cost: 0.00014 },
    read: { input: 1, output: 1, vendorCostUsd: "0.000140000000" },
  },
  {
    name: "a cost so small that it prints with an exponent",
    raw: { prompt_tokens: 1, completion_tokens: 1, cost: 7.5e-8 },
    read: { input: 1, output: 1, vendorCostUsd: "0.000000075000" },
  },
  {
    name: "a free call's cost",
    raw: { prompt_tokens: 1, completion_tokens: 1, cost: 0 },
    read: { input: 1, output: 1, vendorCostUsd: "0.000000000000" },
  },
  {
    name: "the cost with a key of the operator's own at the aggregator, fee and vendor's charge",
    raw: { ...counted, cost: 0.0018, is_byok: true, ...upstream(0.0360795) },
    read: { input: 1, output: 1, vendorCostUsd: "0.037879500000" },
  },
  {
    name: "the same without the vendor's charge",
    raw: { ...counted, cost: 0, is_byok: true, ...upstream(null) },
    read: { input: 1, output: 1 },
  },
  {
    name: "the aggregator's cost, which includes the vendor's",
    raw: { ...counted, cost: 0.00014, is_byok: false, ...upstream(0.00014) },
    read: { input: 1, output: 1, vendorCostUsd: "0.000140000000" },
  },
  {
    name: "xAI's cost in ticks",
    raw: { ...counted, cost_in_usd_ticks: 1_176_500 },
    read: { input: 1, output: 1, vendorCostUsd: "0.000117650000" },
  },
  ...[-1, 0, "0", "", null, {}, "1e5"].map((cost_in_usd_ticks) => ({
    name: `ticks that are no cost: ${JSON.stringify(cost_in_usd_ticks)}`,
    raw: { ...counted, cost_in_usd_ticks },
    read: { input: 1, output: 1 },
  })),
  {
    name: "costs whose sum is no number",
    raw: { ...counted, cost: 1e308, is_byok: true, ...upstream(1e308) },
    read: { input: 1, output: 1 },
  },
  {
    name: "a cost that is none",
    raw: { prompt_tokens: 1, completion_tokens: 1, cost: -1 },
    read: { input: 1, output: 1 },
  },
];

for (const { name, raw, additive = false, read } of rows) {
  Deno.test(`usage is read: ${name}`, () => {
    assert.deepEqual(readUsage(raw, { additiveReasoning: additive }), { ...read, raw });
  });
}

for (
  const raw of [
    undefined,
    null,
    "x",
    [],
    {},
    { total_tokens: 5 },
    { prompt_tokens: null },
    { prompt_tokens: -3, completion_tokens: 7 },
    { prompt_tokens: 3, completion_tokens: -7 },
    { prompt_tokens: 3, completion_tokens: 7.5 },
    { prompt_tokens: "3", completion_tokens: 7 },
    { prompt_tokens: 3, completion_tokens: 1e300 },
  ]
) {
  Deno.test(`${JSON.stringify(raw)} is no usage`, () => {
    assert.equal(readUsage(raw, {}), undefined);
  });
}

const written: [string, Usage, Record<string, unknown>][] = [
  [
    "totals are recomputed, not copied",
    { input: 10, output: 5, raw: { total_tokens: 99 } },
    { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  ],
  [
    "pitfall 108: cache numbers of the messages dialect",
    { input: 12307, output: 550, cacheRead: 0, cacheWrite: 12304 },
    {
      prompt_tokens: 12307,
      completion_tokens: 550,
      total_tokens: 12857,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 12304 },
    },
  ],
  [
    "both lifetimes of the cache are one number here",
    { input: 100, output: 1, cacheWrite: 20, cacheWriteLong: 30, reasoning: 0 },
    {
      prompt_tokens: 100,
      completion_tokens: 1,
      total_tokens: 101,
      prompt_tokens_details: { cache_write_tokens: 50 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  ],
  [
    "audio and images",
    { input: 9, output: 8, audioInput: 1, imageInput: 2, audioOutput: 3, imageOutput: 4 },
    {
      prompt_tokens: 9,
      completion_tokens: 8,
      total_tokens: 17,
      prompt_tokens_details: { audio_tokens: 1, image_tokens: 2 },
      completion_tokens_details: { audio_tokens: 3, image_tokens: 4 },
    },
  ],
];
for (const [name, usage, json] of written) {
  Deno.test(`usage is written: ${name}`, () => assert.deepEqual(writeUsage(usage), json));
}

Deno.test("pitfall 110: what is written can be read again, streamed or whole", () => {
  const usage: Usage = { input: 1000, output: 20, cacheRead: 800, reasoning: 5 };
  const raw = writeUsage(usage);
  assert.deepEqual(readUsage(raw, {}), { ...usage, raw });
});
