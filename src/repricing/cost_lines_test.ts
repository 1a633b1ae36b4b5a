import assert from "@std/assert";
import type { InteractionSummary } from "../shared/interaction.ts";
import { createRegistry } from "../vendors/registry.ts";
import { costLines } from "./cost_lines.ts";
import { interactionRow } from "../../tests/support/interaction_row.ts";

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
