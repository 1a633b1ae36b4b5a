import assert from "@std/assert";
import { imageTokens } from "../dialects/kernel/image_tokens.ts";
import { readImageList } from "../dialects/media/images/answer.ts";
import { callCost } from "../pricing/call_cost.ts";
import { upperBoundNanos } from "../pricing/pricing.ts";
import type { Usage } from "../shared/usage.ts";
import { priceOf } from "../../tests/support/operation_request.ts";
import { type BillableImages, imageUsage } from "./image_usage.ts";

const drawing = {
  ask: { prompt: "A boat at night", count: 3, options: {} },
  encoded: { priced: { quality: "high", size: "1024x1024" }, tokensPerImage: 8000 },
  price: undefined,
} as unknown as Parameters<typeof imageUsage>[1];

Deno.test("pictures whose vendor reports no usage are estimated beside those that have one", () => {
  const usage = { input: 10, output: 4000, imageOutput: 4000, raw: { output_tokens: 4000 } };
  const reported = { count: 1, usage };
  const silent = { count: 2 };
  const alone = imageUsage([reported], drawing);
  assert.deepEqual([alone.usage.output, alone.basis], [4000, "reported"]);
  const { usage: estimate } = imageUsage([silent], drawing);
  assert.ok(estimate.output > 0 && estimate.input > 0);
  const both = imageUsage([reported, silent], drawing);
  assert.equal(both.basis, "estimated");
  assert.equal(both.usage.output, 4000 + estimate.output);
  assert.equal(both.usage.input, 10 + estimate.input);
  assert.equal(both.usage.imageOutput, both.usage.output);
  assert.deepEqual(both.usage.raw, [usage.raw]);
  assert.deepEqual(both.usage.images, [{ quality: "high", size: "1024x1024", count: 3 }]);
});

Deno.test("a usage that names no tokens is none: its pictures are estimated, not free", () => {
  for (const raw of [{}, { total_tokens: 4165 }, { prompt_tokens: 5 }]) {
    const { usage } = readImageList({ data: [{ b64_json: "AAAA" }], usage: raw });
    const drawn = imageUsage([{ count: 1, usage: usage! }], drawing);
    assert.ok(drawn.usage.output > 0 && drawn.basis === "estimated", JSON.stringify(drawn));
    assert.deepEqual(drawn.usage.raw, raw);
  }
  const { usage } = readImageList({ data: [{ b64_json: "AAAA" }], usage: { cost: 0.04 } });
  const told = [{ count: 1, usage: usage! }];
  assert.equal(imageUsage(told, drawing).basis, "reported");
  assert.equal(imageUsage(told, { ...drawing, ignoresCost: true }).basis, "estimated");
});

Deno.test("what a vendor says that several calls cost is added up, unless one says nothing", () => {
  const answer = (cost?: string) => ({
    count: 1,
    usage: { input: 1, output: 2, ...(cost === undefined ? {} : { vendorCostUsd: cost }) },
  });
  const costOf = (...costs: (string | undefined)[]) =>
    imageUsage(costs.map(answer), drawing).usage.vendorCostUsd;
  assert.equal(costOf("0.04", "1e-3"), "0.041000000");
  assert.equal(costOf("0.04", undefined), undefined);
  assert.equal(costOf("0.04", "much"), undefined);
  const perImage = { ...drawing, price: priceOf({ perImage: 40_000_000_000n }) };
  const silent = imageUsage([answer("0.04"), { count: 1 }], perImage);
  assert.equal(silent.usage.vendorCostUsd, undefined, "nor one without any usage");
});

Deno.test("each vendor request has the price per request", () => {
  const price = priceOf({ output: 1000n, perRequest: 1_000_000n });
  const usage = { input: 0, output: 20 };
  const costOf = (calls: number) => {
    const made = Array(calls).fill({ count: 1, usage });
    return callCost(imageUsage(made, { ...drawing, price }).usage, price, () => undefined).pico;
  };
  assert.deepEqual([costOf(1), costOf(4)], [1_020_000n, 4_080_000n]);
  const bound = { inputTokens: 0, maxOutputTokens: 20, choices: 4, requests: 4 };
  assert.equal(upperBoundNanos(price, bound), 4080n);
});

Deno.test("several calls have the service tier that the vendor reports for them", () => {
  const tierOf = (...tiers: (string | undefined)[]) => {
    const calls = tiers.map((serviceTier) => ({
      count: 1,
      usage: { input: 1, output: 2, ...(serviceTier === undefined ? {} : { serviceTier }) },
    }));
    return imageUsage(calls, drawing).usage.serviceTier;
  };
  assert.equal(tierOf("flex", "flex"), "flex");
  assert.equal(tierOf("flex", undefined), "flex");
  assert.equal(tierOf("flex", "standard"), undefined);
  assert.equal(tierOf(undefined, undefined), undefined);
  // Each is priced by its own.
  const usageIn = (serviceTier: string) => ({ input: 100, output: 20, reasoning: 5, serviceTier });
  const calls = ["flex", "flex", "priority", "standard"].map((tier) => ({
    count: 1,
    usage: usageIn(tier),
  }));
  const price = {
    ...priceOf({ input: 1000n, output: 1000n, reasoning: 2000n }),
    serviceTiers: {
      flex: { numerator: 1n, denominator: 2n },
      priority: { numerator: 3n, denominator: 1n },
    },
  };
  const { usage } = imageUsage(calls, drawing);
  assert.equal(callCost(usage, price, () => undefined).pico, 5n * 125_000n);
});

Deno.test("pictures of a broken answer are as many as were asked for, and reported by a usage alone", () => {
  const usage = { input: 10, output: 4000 };
  const perImage = { ...drawing, price: priceOf({ perImage: 40_000_000_000n }) };
  const broken = { count: 2, isBroken: true };
  const basisOf = (one: BillableImages, by: typeof drawing) => {
    const { usage: { images, output }, basis } = imageUsage([one], by);
    assert.equal(images![0]!.count, 2);
    return [basis, output > 0];
  };
  assert.deepEqual(basisOf({ ...broken, usage }, drawing), ["reported", true]);
  assert.deepEqual(basisOf({ ...broken, usage: { input: 10, output: 0 } }, drawing), [
    "estimated",
    true,
  ]);
  assert.deepEqual(basisOf(broken, drawing), ["estimated", true]);
  assert.deepEqual(basisOf(broken, perImage), ["estimated", false]);
  const paid = { ...broken, usage: { ...usage, vendorCostUsd: "0.04" } };
  assert.deepEqual(basisOf(paid, perImage), ["reported", true]);
  // One of several requests suffices.
  assert.equal(imageUsage([{ count: 1, usage }, broken], perImage).basis, "estimated");
});

Deno.test("at a price per image the pictures are the usage: without a report there is no cost of 0", () => {
  const perImage = { ...drawing, price: priceOf({ perImage: 40_000_000_000n }) };
  const free = { ...drawing, encoded: { ...drawing.encoded, tokensPerImage: 0 } };
  const images = [{ quality: "high", size: "1024x1024", count: 3 }];
  for (const by of [perImage, free]) {
    assert.deepEqual(imageUsage([{ count: 1 }, { count: 2 }], by), {
      usage: { input: 0, output: 0, images, requests: 2 },
      basis: "reported",
    });
  }
});

Deno.test("of several usages each kind of token is summed where a vendor counts it", () => {
  const both = imageUsage([
    { count: 1, usage: { input: 10, output: 20, cacheRead: 3 } },
    { count: 1, usage: { input: 1, output: 2, reasoning: 4 } },
  ], drawing);
  const images = [{ quality: "high", size: "1024x1024", count: 2 }];
  assert.deepEqual(both, {
    usage: { input: 11, output: 22, cacheRead: 3, reasoning: 4, images, requests: 2 },
    basis: "reported",
  });
});

Deno.test("a GIF whose vendor reports no usage is estimated with its frames", () => {
  const outputOf = (options: Record<string, unknown>) =>
    imageUsage([{ count: 1 }], { ...gif, ask: { ...gif.ask, options } }).usage.output;
  const gif = { ...drawing, encoded: { ...drawing.encoded, tokensPerImage: 1e6 } };
  const frame = imageTokens("high", "1024x1024");
  assert.deepEqual([outputOf({}), outputOf({ output_format: "gif" })], [frame, 9 * frame]);
});

Deno.test("of a half report of pictures, the other half is estimated, beside their thoughts", () => {
  const billed = (usage?: Usage) => {
    const { usage: { input, output }, basis } = imageUsage([{ count: 1, usage }], drawing);
    return { input, output, basis };
  };
  const silent = billed();
  const noInput: Usage = { input: 0, output: 300, imageOutput: 300, unreported: "input" };
  assert.deepEqual(billed(noInput), { ...silent, output: 300 });
  const noOutput: Usage = { input: 70, output: 0, unreported: "output" };
  assert.deepEqual(billed(noOutput), { ...silent, input: 70 });
  const thoughts: Usage = { ...noOutput, output: 9, reasoning: 9 };
  assert.deepEqual(billed(thoughts), { ...silent, input: 70, output: silent.output + 9 });
  assert.deepEqual(billed({ ...noInput, output: 0 }), silent);
  const cost = { ...noInput, vendorCostUsd: "0.04" };
  assert.equal(billed(cost).basis, "reported");
});
