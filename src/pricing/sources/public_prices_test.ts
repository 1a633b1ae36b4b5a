import assert from "@std/assert";
import { openPublicPrices } from "./public_prices.ts";
import { priceFieldsOf } from "../table/price_words.ts";

const now = new Date("2026-11-21T12:00:00Z");

Deno.test("the package's prices read as rows, with their steps, for their time", async () => {
  const prices = await openPublicPrices(() => undefined);
  const fields = (label: string, model: string, at = now) => {
    const row = prices.find(label, model, at);
    return row && priceFieldsOf(row);
  };
  assert.deepEqual(fields("vendor-g", "grok-4.6"), {
    ...{ input: "2", output: "6", cache_read: "0.5" },
    context_tiers: [{ above_input_tokens: 199_999, input: "4", output: "12", cache_read: "1" }],
  });
  const luna = (day: string) => fields("vendor-b", "gpt-5.6-luna", new Date(day))?.input;
  assert.deepEqual([luna("2026-07-29"), luna("2026-07-31")], ["1", "0.2"]);
  assert.equal(fields("vendor-c", "claude-opus-5")?.per_web_search, "0.01");
  assert.equal(fields("vendor-e", "gemini-2.5-flash")?.cached_audio_input, "0.1");
  assert.equal(fields("vendor-a", "moonshotai/Kimi-K2.6")?.input, "0.95");
  assert.equal(fields("vendor-b", "no-such-model"), undefined);
});

Deno.test("an operator's vendor is known by its address", async () => {
  const prices = await openPublicPrices((label) =>
    label === "mine" ? "https://api.deepseek.com/v1" : "http://127.0.0.1:1"
  );
  assert.ok(prices.find("mine", "deepseek-v4-flash", now));
  assert.equal(prices.find("other", "deepseek-v4-flash", now), undefined);
});
