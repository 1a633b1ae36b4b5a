import assert from "@std/assert";
import { readPriceRow } from "./price_row.ts";
import { bundledPrices } from "./prices.ts";
import { priceFieldsOf } from "./price_words.ts";

Deno.test("every bundled row in words reads as the row it was", () => {
  const rows = bundledPrices();
  assert.ok(rows.length > 50);
  for (const row of rows) {
    const { label, model, source } = row;
    const again = readPriceRow({ label, model, source }, priceFieldsOf(row), model);
    assert.equal(again.version, row.version, `${label}/${model}`);
    assert.equal(again.maxOutputTokens, row.maxOutputTokens);
  }
});

Deno.test("all units, days and kinds of image come back as they were written", () => {
  const fields = {
    ...{ input: "0.0028", per_request: "0.001", per_minute: "0.006", per_web_search: "0.01" },
    ...{ per_million_characters: "4.2", max_output_tokens: 9, per_image: { "hd/1x1": "0.08" } },
    ...{ valid_from: "2026-11-01", valid_to: "2026-11-30", service_tiers: { flex: "0.5" } },
    context_tiers: [{ from_input_tokens: 0, output: "12" }],
  };
  const row = readPriceRow({ label: "vendor-b", model: "m", source: "test" }, fields, "m");
  assert.deepEqual(priceFieldsOf(row), fields);
});
