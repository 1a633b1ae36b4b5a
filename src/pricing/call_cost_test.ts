import assert from "@std/assert";
import { callCost } from "./call_cost.ts";
import { costOf, type PriceRow, type Rates } from "./pricing.ts";
import type { Usage } from "../shared/usage.ts";

function row(model: string, rates: Rates): PriceRow {
  return {
    ...{ label: "vendor-x", model, rates, contextTiers: [], serviceTiers: {} },
    ...{ version: model, source: "test" },
  };
}

const asked = row("asked", { input: 1000n, output: 1000n });
const dear = row("dear", { input: 5000n, cacheRead: 500n, output: 25_000n });
const priceOf = (model: string) => model === "dear" ? dear : undefined;

const advised: Usage = {
  input: 3000,
  cacheRead: 1000,
  output: 150,
  otherModels: [{ model: "dear", usage: { input: 2000, cacheRead: 1000, output: 50 } }],
};

Deno.test("what another model did costs its own price, the rest the asked one's", () => {
  const cost = callCost(advised, asked, priceOf);
  assert.equal(cost.pico, 1000n * 1100n + 1000n * 5000n + 1000n * 500n + 50n * 25_000n);
  assert.equal(cost.lines.reduce((sum, line) => sum + line.pico, 0n), cost.pico);
});

Deno.test("another model without a price costs what the asked one does", () => {
  const unknown = { ...advised, otherModels: [{ ...advised.otherModels![0]!, model: "who" }] };
  assert.deepEqual(callCost(unknown, asked, priceOf), costOf(advised, asked));
});

Deno.test("the service tier and region that the vendor reported hold for every model of the call", () => {
  const factors = {
    serviceTiers: { flex: { numerator: 1n, denominator: 2n } },
    regions: { us: { numerator: 3n, denominator: 1n } },
  };
  const cost = (more: Partial<Usage>) =>
    callCost({ ...advised, ...more }, { ...asked, ...factors }, () => ({ ...dear, ...factors }))
      .pico;
  assert.equal(cost({ serviceTier: "flex" }) * 2n, cost({}));
  assert.equal(cost({ region: "us" }), cost({}) * 3n);
});

Deno.test("a pass of the asked model has the context tier of its own prompt", () => {
  const contextTiers = [{ threshold: 2500, inclusive: false, rates: { input: 9000n } }];
  const usage = { input: 4000, output: 0, otherModels: [{ usage: { input: 2000, output: 0 } }] };
  assert.equal(callCost(usage, { ...asked, contextTiers }, priceOf).pico, 4000n * 1000n);
});

Deno.test("a price per request is paid once, whatever passes the vendor made of it", () => {
  const perRequest = 5_000_000n;
  const usage = { ...advised, otherModels: [...advised.otherModels!, { usage: advised }] };
  const both = (model: PriceRow) => ({
    ...model,
    rates: { ...model.rates, perRequest },
    contextTiers: [{ threshold: 0, inclusive: true, rates: { perRequest } }],
  });
  const cost = callCost(usage, both(asked), () => both(dear));
  const { lines } = cost;
  assert.equal(lines.filter(({ dimension }) => dimension === "perRequest").length, 1);
  assert.equal(cost.pico, callCost(usage, asked, priceOf).pico + perRequest);
});

Deno.test("counts that another model's usage lacks are all the asked one's", () => {
  const rates = { input: 1000n, cacheRead: 100n, cacheWrite: 2000n, output: 1000n };
  const usage: Usage = {
    ...{ input: 100, cacheRead: 20, cacheWrite: 30, output: 10 },
    otherModels: [{ model: "dear", usage: { input: 40, output: 5 } }],
  };
  const cost = callCost(usage, row("asked", rates), priceOf);
  const ours = 10n * 1000n + 20n * 100n + 30n * 2000n + 5n * 1000n;
  assert.equal(cost.pico, ours + 40n * 5000n + 5n * 25_000n);
});

Deno.test("a part that is larger than the whole takes nothing below zero", () => {
  const odd: Usage = {
    input: 10,
    output: 1,
    otherModels: [{ model: "dear", usage: { input: 100, output: 0 } }],
  };
  assert.equal(callCost(odd, asked, priceOf).pico, 1000n + 100n * 5000n);
});
