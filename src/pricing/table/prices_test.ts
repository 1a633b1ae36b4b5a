import assert from "@std/assert";
import { agentNames } from "../../../contracts/admin/keys.ts";
import { maskSecrets } from "../../base/secret.ts";
import { nanosToUsd } from "../../base/money.ts";
import { costOf } from "../pricing.ts";
import type { Usage } from "../../shared/usage.ts";
import { defaultModels } from "./price_table.ts";
import { bundledPrices, createPrices, type PriceFamily } from "./prices.ts";
import { parsePricesFile } from "./prices_file.ts";
import { rowsFromAggregatorModels, rowsFromHostedModels } from "../sources/listed_prices.ts";

const families: PriceFamily[] = "abcdefg".split("").map((letter) => ({
  label: `vendor-${letter}`,
  ...letter === "e" ? { priceLabel: "vendor-d" } : {},
}));
const aliases: Record<string, string> = { openai: "vendor-b", gemini: "vendor-e" };
const familyOf = (name: string) =>
  families.find((family) => family.label === (aliases[name] ?? name));
const now = new Date("2026-11-21T12:00:00Z");

function pricesWith(overrides = "{}") {
  return createPrices({
    bundled: bundledPrices(),
    overrides: parsePricesFile(overrides),
    familyOf,
  });
}

function costUsd(label: string, model: string, usage: Usage, at = now): string {
  const row = pricesWith().find(label, model, at) ?? assert.fail(`no price for ${model}`);
  return nanosToUsd(costOf(usage, row).nanos);
}

Deno.test("bundled prices give the test vectors", () => {
  const sol = { input: 300_000, cacheRead: 100_000, output: 1000 };
  assert.equal(costUsd("vendor-b", "gpt-6-sol", sol), "0.855000000");
  const argon = { input: 1_000_000, output: 0 };
  const haiku = { input: 100_001, cacheRead: 99_950, cacheWrite: 1, output: 10 };
  assert.equal(costUsd("vendor-c", "claude-haiku-5-5", haiku), "0.005048125");
  const sonnet = { input: 12_307, cacheWrite: 12_304, output: 550 };
  assert.equal(costUsd("vendor-c", "claude-sonnet-4-6", sonnet), "0.054399000");
  const flash = { input: 20, output: 533, reasoning: 382 };
  assert.equal(costUsd("vendor-d", "gemini-2.5-flash", flash), "0.001338500");
  assert.equal(
    costUsd("vendor-g", "grok-4.3", { input: 36, output: 700, reasoning: 690 }),
    "0.001795000",
  );
  assert.equal(costUsd("vendor-g", "grok-4.7", { input: 200_000, output: 0 }), "0.800000000");
  assert.equal(costUsd("vendor-d", "gemini-4-argon", argon), "2.000000000");
  const drawn = { input: 10, output: 1220, imageOutput: 1120 };
  const draws = [
    ["gemini-3-pro-image", "0.135620000"],
    ["gemini-3.1-flash-image", "0.067505000"],
    ["gemini-3.1-flash-image-preview", "0.067505000"],
    ["gemini-3.1-flash-lite-image", "0.033752500"],
  ] as const;
  for (const [model, usd] of draws) assert.equal(costUsd("vendor-d", model, drawn), usd, model);
  const spoken = { input: 25, audioInput: 20, output: 40, audioOutput: 30 };
  for (const model of ["gpt-audio", "gpt-audio-1.5", "gpt-audio-2025-08-28"]) {
    assert.equal(costUsd("vendor-b", model, spoken), "0.002672500", model);
  }
  assert.equal(costUsd("vendor-b", "gpt-audio-mini", spoken), "0.000827000");
});

Deno.test("an operator's prices of two periods stand under a label and an alias", () => {
  const prices = pricesWith(JSON.stringify({
    "vendor-b/gpt-x": { input: "1", valid_to: "2026-11-30" },
    "openai/gpt-x": { input: "2", valid_from: "2026-12-01" },
  }));
  const rate = (at: string) => prices.find("vendor-b", "gpt-x", new Date(at))?.rates.input;
  assert.equal(rate("2026-11-30T23:59:59.999Z"), 1_000_000n);
  assert.equal(rate("2026-12-01T00:00:00Z"), 2_000_000n);
});

Deno.test("a price that holds on one day alone holds all of it", () => {
  const day = { valid_from: "2026-12-01", valid_to: "2026-12-01" };
  const prices = pricesWith(JSON.stringify({ "vendor-b/gpt-x": { input: "1", ...day } }));
  const isPriced = (at: string) => prices.find("vendor-b", "gpt-x", new Date(at)) !== undefined;
  const times = ["2026-11-30T23:59:59.999Z", "2026-12-01T00:00:00Z", "2026-12-01T23:59:59.999Z"];
  assert.deepEqual([...times, "2026-12-02T00:00:00Z"].map(isPriced), [false, true, true, false]);
});

Deno.test("searches of generation 2.5, which counts one for a prompt, have its price", () => {
  for (const model of ["pro", "flash", "flash-lite", "flash-image"]) {
    const row = pricesWith().find("vendor-d", `gemini-2.5-${model}`, now);
    assert.equal(row?.rates.perWebSearch, 35_000_000_000n, model);
  }
});

Deno.test("an operator's two prices of a model from the same day are refused", () => {
  for (const day of [{}, { valid_from: "2026-12-01" }]) {
    const rows = {
      "vendor-b/gpt-x": { input: "1", ...day },
      "openai/gpt-x": { input: "2", ...day },
    };
    assert.throws(() => pricesWith(JSON.stringify(rows)), {
      message: "openai/gpt-x: vendor-b/gpt-x is the same model, from the same day",
    });
  }
});

Deno.test("a price changes at midnight UTC of its day", () => {
  const usage = { input: 1_000_000, output: 0 };
  const cost = (at: string) => costUsd("vendor-d", "gemini-4-argon", usage, new Date(at));
  assert.equal(cost("2026-11-30T23:59:59.999Z"), "2.000000000");
  assert.equal(cost("2026-12-01T00:00:00Z"), "4.000000000");
  const read = { input: 1_000_000, cacheRead: 1_000_000, output: 0 };
  const sonnet = (at: string) => costUsd("vendor-c", "claude-sonnet-5-5", read, new Date(at));
  assert.equal(sonnet("2026-10-06T23:00:00Z"), "0.200000000");
  assert.equal(sonnet("2026-10-07T00:00:00Z"), "0.100000000");
});

Deno.test("a name never finds the price of another model that begins alike", () => {
  const prices = pricesWith('{"vendor-b/gpt-5": {"input": "99"}}');
  assert.equal(prices.find("vendor-b", "gpt-5-mini", now)?.model, "gpt-5-mini");
  assert.equal(prices.find("vendor-b", "gpt-5", now)?.model, "gpt-5");
  assert.equal(prices.find("vendor-c", "claude-opus-5-5", now)?.model, "claude-opus-5-5");
  for (const model of ["gpt-5-micro", "gpt-5.4-mini-x", "gpt-", "GPT-5-mini", ""]) {
    assert.equal(prices.find("vendor-b", model, now), undefined, model);
  }
  assert.equal(prices.find("vendor-c", "gpt-5-mini", now), undefined);
});

Deno.test("a dated snapshot has its base model's price unless it has one of its own", () => {
  const prices = pricesWith('{"vendor-b/gpt-5-mini-2026-04-21": {"input": "7"}}');
  assert.equal(prices.find("vendor-b", "gpt-5-mini-2026-04-21", now)?.rates.input, 7_000_000n);
  assert.equal(prices.find("vendor-b", "gpt-5-mini-2026-05-01", now)?.rates.input, 250_000n);
});

Deno.test("a vendor takes its price family's rows where it has none of its own", () => {
  const prices = pricesWith('{"gemini/gemini-2.5-pro": {"input": "9"}}');
  assert.equal(prices.find("vendor-e", "gemini-2.5-flash", now)?.label, "vendor-d");
  assert.equal(prices.find("gemini", "gemini-2.5-flash", now)?.label, "vendor-d");
  assert.equal(prices.find("vendor-e", "gemini-2.5-pro", now)?.rates.input, 9_000_000n);
  assert.equal(prices.find("vendor-d", "gemini-2.5-pro", now)?.rates.input, 1_250_000n);
});

Deno.test("an operator's row replaces the bundled one as a whole, while it is valid", () => {
  const prices = pricesWith(
    '{"openai/gpt-6-sol": {"input": "5"}, "vendor-b/gpt-5.5": {"input": "1", "valid_from": "2027-01-01"}}',
  );
  const sol = prices.find("vendor-b", "gpt-6-sol", now);
  assert.deepEqual([sol?.label, sol?.rates, sol?.contextTiers], [
    "vendor-b",
    { input: 5_000_000n },
    [],
  ]);
  assert.equal(prices.find("vendor-b", "gpt-5.5", now)?.rates.input, 5_000_000n);
  const later = new Date("2027-01-01T00:00:00Z");
  assert.equal(prices.find("vendor-b", "gpt-5.5", later)?.rates.input, 1_000_000n);
});

Deno.test("an operator's row of an unknown vendor stops the start", () => {
  assert.throws(() => pricesWith('{"vendor-z/gpt-x": {}}'), {
    message: "vendor-z/gpt-x: no vendor has the label or alias vendor-z",
  });
});

Deno.test("learned prices come after the bundled ones and before fallbacks", () => {
  const prices = pricesWith();
  const hosted = (input: number) =>
    rowsFromHostedModels("vendor-a", [{
      id: "deepseek-ai/DeepSeek-V4-Pro",
      providers: [{ provider: "p", status: "live", pricing: { input, output: 1 } }],
    }]);
  const find = () => prices.find("vendor-a", "deepseek-ai/DeepSeek-V4-Pro", now)?.rates.input;
  assert.equal(find(), 435_000n);
  prices.learn("vendor-a", hosted(0.6));
  assert.equal(find(), 600_000n);
  prices.learn("vendor-a", hosted(0.7));
  assert.equal(find(), 700_000n);
  prices.learn("vendor-a", []);
  assert.equal(find(), 435_000n);
  prices.learn(
    "vendor-d",
    rowsFromAggregatorModels("vendor-d", [{
      id: "gemini-2.5-pro",
      pricing: { prompt: "1", completion: "1" },
    }]),
  );
  assert.equal(prices.find("vendor-d", "gemini-2.5-pro", now)?.rates.input, 1_250_000n);
});

Deno.test("the aggregator's fallback is flagged and gives way to its list", () => {
  const prices = pricesWith();
  assert.equal(prices.find("vendor-f", "some/model", now)?.fallback, true);
  prices.learn(
    "vendor-f",
    rowsFromAggregatorModels("vendor-f", [{
      id: "some/model",
      pricing: { prompt: "0.000001", completion: "0.000002" },
    }]),
  );
  const learned = prices.find("vendor-f", "some/model:nitro", now);
  assert.deepEqual([learned?.model, learned?.fallback], ["some/model", undefined]);
  assert.equal(prices.find("vendor-f", "other/model", now)?.fallback, true);
});

Deno.test("listed names each priced model of a vendor once", () => {
  const prices = pricesWith('{"vendor-g/grok-9": {"input": "1"}}');
  assert.deepEqual(prices.listed("vendor-g", now).map((row) => row.model), [
    "grok-4.3",
    "grok-4.6",
    "grok-4.7",
    "grok-9",
    "grok-imagine-image",
    "grok-imagine-image-quality",
    "tts",
  ]);
  assert.deepEqual(
    prices.listed("vendor-e", now).map((row) => row.model),
    prices.listed("vendor-d", now).map((row) => row.model),
  );
  assert.deepEqual(prices.listed("vendor-f", now), []);
});

Deno.test("every bundled row has a source and prices, reads no dearer than input, upper tiers dearer", () => {
  for (const row of bundledPrices()) {
    const name = `${row.label}/${row.model}`;
    const { input, output, cacheRead, imageOutput, audioOutput } = row.rates;
    assert.ok(row.source !== "" && /^202\d-\d\d(-\d\d)?$/.test(row.checkedOn ?? ""), name);
    const isTold = row.model.includes("embedding") ||
      (output ?? imageOutput ?? audioOutput ?? 0n) > 0n;
    const { perImage, perMinute, perCharacter } = row.rates;
    const isUnit = perImage !== undefined || (perMinute ?? perCharacter ?? 0n) > 0n;
    assert.ok(isUnit !== ((input ?? 0n) > 0n && isTold), name);
    assert.ok((cacheRead ?? 0n) <= (input ?? 0n), name);
    for (const tier of row.contextTiers) {
      assert.ok((tier.rates.input ?? 0n) > (input ?? 0n), name);
      assert.ok((tier.rates.output ?? 0n) > (output ?? 0n), name);
    }
  }
  const versions = bundledPrices().map((row) => row.version);
  assert.equal(new Set(versions).size, versions.length);
});

Deno.test("the default model of every vendor has a price", () => {
  for (const { label } of families) {
    const model = defaultModels[label] ?? assert.fail(label);
    assert.ok(pricesWith().find(label, model, now), `${label}/${model}`);
  }
});

Deno.test("what chat endpoints refuse stays with a model whose price the operator sets", () => {
  const told = pricesWith(JSON.stringify({
    "vendor-b/gpt-5.6-sol": { input: "1" },
    "openai/gpt-5.4": { input: "1", chat_refuses: [] },
    "vendor-b/gpt-x": { input: "1", chat_refuses: ["tools_with_reasoning"] },
  }));
  const refused = (model: string) => told.chatRefuses("vendor-b", model, now);
  assert.deepEqual(refused("gpt-5.6-sol"), ["tools"]);
  assert.deepEqual(refused("gpt-5.6-sol-2026-07-01"), ["tools"]);
  assert.deepEqual(refused("gpt-5.4"), []);
  assert.deepEqual(refused("gpt-5.4-mini"), ["tools_with_reasoning"]);
  assert.deepEqual(refused("gpt-x"), ["tools_with_reasoning"]);
  for (const model of ["gpt-5-mini", "gpt-4.1", "unknown"]) assert.deepEqual(refused(model), []);
  assert.throws(() => parsePricesFile('{"vendor-b/x": {"chat_refuses": ["all"]}}'), {
    message: 'vendor-b/x.chat_refuses[0]: expected one of tools, tools_with_reasoning, got "all"',
  });
});

Deno.test("no model's name is taken for a credential, also behind its vendor's or its agent's", () => {
  const makers = ["xai-", "xai/", "x-ai/", "openai/", "hf:", "sk/", "Bearer-"];
  for (const { label, model } of bundledPrices()) {
    for (const name of [model, `${label}/${model}`, ...makers.map((maker) => maker + model)]) {
      assert.equal(maskSecrets(name), name);
    }
  }
  for (const agent of ["xai-grok-build", "xai-grok-workspace", "xai-sdk-python", ...agentNames]) {
    assert.equal(maskSecrets(agent), agent);
    assert.equal(maskSecrets(`${agent}/1.2.3`), `${agent}/1.2.3`);
  }
});
