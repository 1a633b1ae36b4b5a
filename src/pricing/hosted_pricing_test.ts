import assert from "@std/assert";
import { nanosToUsd } from "../base/money.ts";
import { type BillableUsage, costOf, type PriceRow, upperBoundNanos } from "./pricing.ts";

const hosted: PriceRow = {
  label: "vendor-x",
  model: "model-x",
  rates: {
    input: 2_000_000n,
    output: 10_000_000n,
    perWebSearch: 10_000_000_000n,
    perXSearch: 5_000_000_000n,
    perFileSearch: 2_500_000_000n,
    perCodeSession: 30_000_000_000n,
    perMapsQuery: 14_000_000_000n,
  },
  contextTiers: [],
  // As rows are read: six decimals.
  serviceTiers: { fast: { numerator: 2_000_000n, denominator: 1_000_000n } },
  regions: { us: { numerator: 1_100_000n, denominator: 1_000_000n } },
  version: "v",
  source: "test",
};

Deno.test("hosted work costs the same in every tier and region, tokens by both factors", () => {
  const work = { webSearches: 3, xSearches: 2, fileSearches: 4, codeSessions: 1, mapsQueries: 5 };
  const cost = (more: Partial<BillableUsage>) =>
    nanosToUsd(costOf({ input: 1000, output: 100, ...work, ...more }, hosted).nanos);
  // 0.003 of tokens, 0.03 + 0.01 + 0.01 + 0.03 + 0.07 of work.
  assert.equal(cost({}), "0.153000000");
  assert.equal(cost({ serviceTier: "fast" }), "0.156000000");
  assert.equal(cost({ region: "us" }), "0.153300000");
  assert.equal(cost({ region: "us", serviceTier: "fast" }), "0.156600000");
  assert.equal(cost({ region: "global" }), "0.153000000");
  const bound = upperBoundNanos(hosted, {
    ...{ inputTokens: 1000, maxOutputTokens: 100, region: "us", serviceTier: "fast" },
    ...work,
  });
  assert.equal(nanosToUsd(bound), "0.156600000");
});
