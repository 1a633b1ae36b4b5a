import assert from "@std/assert";
import type { PriceFields } from "../table/price_row.ts";
import { compareRows, sizesOf } from "./price_comparison.ts";
import { discrepancyOf } from "./known_discrepancies.ts";
import { readPriceRow } from "../table/price_row.ts";

const row = (fields: PriceFields) =>
  readPriceRow({ label: "vendor-b", model: "gpt-5.4", source: "test" }, fields, "row");

Deno.test("rows that cost the same are equal, whatever words they use", () => {
  const one = row({ input: "1", output: "2", cache_read: "1" });
  const other = row({
    ...{ input: "1.0", output: "2", audio_output: "2" },
    context_tiers: [{ above_input_tokens: 100, output: "2" }],
  });
  assert.deepEqual(compareRows(one, other), []);
});

Deno.test("each difference names its dimension and the prompts it holds for", () => {
  const ours = row({ input: "1", context_tiers: [{ above_input_tokens: 272_000, input: "2" }] });
  const theirs = row({ input: "1", context_tiers: [{ from_input_tokens: 272_000, input: "2" }] });
  assert.deepEqual(sizesOf([ours, theirs]), [0, 272_000, 272_001]);
  const [one, ...rest] = compareRows(ours, theirs);
  assert.deepEqual(rest, []);
  assert.deepEqual(one, {
    ...{ dimension: "input", fromTokens: 272_000, toTokens: 272_000 },
    ...{ ours: 1_000_000n, theirs: 2_000_000n },
  });
  // It is one of those that are explained, but never for an operator's own row.
  assert.match(discrepancyOf(ours, one!)?.why ?? "", /above 272,000/);
  assert.equal(discrepancyOf({ ...ours, source: "PRICES_FILE" }, one!), undefined);
  assert.equal(discrepancyOf(ours, { ...one!, toTokens: 272_001 }), undefined);
});

Deno.test("a difference without end has none, and one that changes is two", () => {
  const ours = row({ input: "1", per_web_search: "0.01" });
  const theirs = row({ input: "3", context_tiers: [{ above_input_tokens: 9, input: "6" }] });
  assert.deepEqual(compareRows(ours, theirs), [
    { dimension: "input", fromTokens: 0, toTokens: 9, ours: 1_000_000n, theirs: 3_000_000n },
    { dimension: "input", fromTokens: 10, ours: 1_000_000n, theirs: 6_000_000n },
    { dimension: "perWebSearch", fromTokens: 0, ours: 10_000_000_000n, theirs: 0n },
  ]);
});
