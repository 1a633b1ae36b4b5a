import assert from "@std/assert";
import { maxNanos } from "../pricing/plausible.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import { bareInteraction } from "../shared/interaction.ts";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import { pricedUsageText, repriced } from "./repricing.ts";
import { storedUsage } from "./stored_usage.ts";
import type { PricedCall } from "../records/analytics_store.ts";

const row: PriceRow = {
  ...{ label: "vendor-x", model: "m", rates: { input: 2000n }, contextTiers: [] },
  ...{ serviceTiers: {}, version: "new", source: "test" },
};
const usage = { input: 1000, output: 0 };

function call(more: Partial<PricedCall> = {}): PricedCall {
  return {
    ...{ transactionId: "t", createdAt: new Date(0), cursor: "", accountId: 1 },
    ...{ apiKeyId: "k", app: null, userId: null, dialect: "chat" },
    ...{ vendor: "vendor-x", model: "m", mode: "managed", basis: "reported" },
    ...{ costNanos: 1000n, chargedNanos: 1000n, priceVersion: "old" },
    ...{ pricedUsageText: null, usageRawText: null, counts: usage },
    ...more,
  };
}

const none = () => undefined;
const again = (one: PricedCall, at: PriceRow | undefined = row) => repriced(one, usage, at, none);

Deno.test("the charge follows the cost only where the service's own key paid and still does", () => {
  const charged = (more: Partial<PricedCall>) => {
    const outcome = again(call(more));
    return typeof outcome === "object" ? [outcome.costNanos, outcome.chargedNanos] : outcome;
  };
  assert.deepEqual(charged({}), [2000n, 2000n]);
  assert.deepEqual(charged({ mode: "dual_key", chargedNanos: 0n }), [2000n, 0n]);
  assert.deepEqual(charged({ chargedNanos: 0n }), [2000n, 0n], "given back stays given back");
  assert.deepEqual(charged({ costNanos: null, chargedNanos: 0n }), [2000n, 2000n]);
  // The first price of a call that had none.
  const unpriced = { costNanos: null, chargedNanos: 0n };
  assert.deepEqual(charged({ ...unpriced, mode: "dual_key" }), [2000n, 0n]);
  assert.deepEqual(charged({ ...unpriced, isRefunded: true }), [2000n, 0n]);
  assert.deepEqual(charged({ costNanos: 2000n }), "same");
});

Deno.test("a cost beyond what the store can hold stays the most that it can hold", () => {
  const absurd = { input: Number.MAX_SAFE_INTEGER, output: 0 };
  const own = call({ mode: "stored_key", costNanos: maxNanos, chargedNanos: 0n });
  const dear = { ...row, rates: { input: 5_000_000n } };
  assert.equal(repriced(own, absurd, dear, none), "same");
});

Deno.test("a record that could only be written bare is repriced by all that was used", () => {
  const images = { input: 0, output: 0, images: [{ count: 2 }] };
  const written = interactionRow("t", { pricedUsageText: pricedUsageText(images) });
  const { pricedUsageText: priced = null } = bareInteraction(written);
  const bare = call({ counts: { input: 0, output: 0 }, pricedUsageText: priced });
  const perImage = { ...row, rates: { perImage: 500_000n } };
  const used = storedUsage(bare, { find: () => undefined } as never);
  assert.equal(repriced(bare, used, perImage, none), "same");
});

Deno.test("a call keeps its cost where no table can say better", () => {
  assert.equal(again(call({ basis: "vendor_cost" })), "vendor_cost");
  assert.equal(again(call({ basis: "disputed" })), "disputed");
  assert.equal(repriced(call(), undefined, row, none), "no_usage");
  assert.equal(repriced(call(), usage, undefined, none), "no_price");
  const fallback = { ...row, fallback: true };
  assert.equal(again(call(), fallback), "list_price");
  assert.equal(typeof again(call({ costNanos: null, chargedNanos: 0n }), fallback), "object");
});

Deno.test("what is kept of a usage holds every count and no word of the vendor's object", () => {
  const other = { model: "dear", usage: { input: 1, output: 2, raw: "words" } };
  const text = pricedUsageText({
    ...{ input: 9, cacheWriteLong: 3, output: 1, webSearches: 2, serviceTier: "flex" },
    ...{ vendorCostUsd: "0.1", otherModels: [other], raw: { text: "words" } },
  });
  assert.deepEqual(JSON.parse(text), {
    ...{ input: 9, cacheWriteLong: 3, output: 1, webSearches: 2, serviceTier: "flex" },
    ...{ vendorCostUsd: "0.1", otherModels: [{ model: "dear", usage: { input: 1, output: 2 } }] },
  });
});
