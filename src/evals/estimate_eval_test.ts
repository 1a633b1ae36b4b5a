import assert from "@std/assert";
import type { PriceRow } from "../pricing/pricing.ts";
import { estimateEval } from "./estimate_eval.ts";

const row = (input: bigint, output: bigint): PriceRow => ({
  ...{ label: "vendor-b", model: "m", contextTiers: [], serviceTiers: {} },
  ...{ version: "v", source: "test", rates: { input, output } },
});
const prices: Record<string, PriceRow> = {
  cheap: row(1_000n, 2_000n),
  judge: row(10_000n, 20_000n),
};
const priceOf = (model: string) => prices[model];

Deno.test("an estimate is the average call at the model's price, and what judges read and answer", () => {
  const average = { input: 100, output: 50 };
  const plain = estimateEval(20, average, { model: "cheap", graders: [], priceOf });
  // 20 × (100 × 1 + 50 × 2) nano-dollars.
  assert.deepEqual(plain, { calls: 20, costNanos: 4_000n });
  const graders = [{ type: "judge" as const, model: "judge", prompt: "{{answer}}" }];
  const judged = estimateEval(20, average, { model: "cheap", graders, priceOf });
  // and 20 × ((100 + 2 × 50 + 300) × 10 + 100 × 20).
  assert.deepEqual(judged, { calls: 20, costNanos: 4_000n + 140_000n });
  const others = [{ type: "exact" as const, value: "x" }];
  const searching = row(1_000n, 2_000n);
  const each = { ...searching, rates: { ...searching.rates, perRequest: 5_000_000n } };
  const perRequest = { model: "search", graders: others, priceOf: () => each };
  // and 20 × 5,000 for the requests; other graders cost nothing.
  assert.deepEqual(estimateEval(20, average, perRequest), {
    calls: 20,
    costNanos: 4_000n + 100_000n,
  });
});

Deno.test("what nobody knows is not guessed, and nothing costs nothing", () => {
  const options = { model: "none", graders: [], priceOf };
  assert.equal(estimateEval(5, { input: 1, output: 1 }, options).costNanos, undefined);
  assert.equal(estimateEval(5, undefined, { ...options, model: "cheap" }).costNanos, undefined);
  assert.deepEqual(estimateEval(0, undefined, options), { calls: 0, costNanos: 0n });
});
