import assert from "@std/assert";
import type { RequestFacts } from "../../dialects/kernel/dialect.ts";
import { hostedWork as ofGenerate } from "../../dialects/text/generate/hosted.ts";
import type { HostedWork } from "../../dialects/kernel/hosted.ts";
import { hostedWork as ofMessages } from "../../dialects/text/messages/hosted.ts";
import { hostedWork as ofResponses } from "../../dialects/text/responses/hosted.ts";
import { callCost } from "../../pricing/call_cost.ts";
import { Fault } from "../../shared/fault.ts";
import type { Usage } from "../../shared/usage.ts";
import { bundledPrices, createPrices } from "../../pricing/table/prices.ts";
import { createRegistry } from "../../vendors/registry.ts";
import { inputTokenBounds } from "../../shared/token_estimate.ts";
import { boundOf, chargeHosted } from "./hosted_work.ts";

const at = new Date("2026-11-22T00:00:00Z");
const registry = createRegistry({}, []);
const prices = createPrices({
  bundled: bundledPrices(),
  familyOf: (name) => registry.find(name),
});

/** The most that such calls cost when the vendor does all that the bound allows for. */
const cases: readonly {
  name: string;
  label: string;
  model: string;
  body: Record<string, unknown>;
  read: (body: unknown) => HostedWork;
  used: Partial<Usage>;
}[] = [
  {
    name: "five searches where nobody sets a limit",
    label: "vendor-b",
    model: "gpt-5.4",
    body: { tools: [{ type: "web_search" }] },
    read: ofResponses,
    used: { webSearches: 5, input: 80_000 },
  },
  {
    name: "max_tool_calls",
    label: "vendor-b",
    model: "gpt-5.4",
    body: { tools: [{ type: "web_search" }], max_tool_calls: 40 },
    read: ofResponses,
    used: { webSearches: 40, input: 640_000 },
  },
  {
    name: "a fast tier with code",
    label: "vendor-b",
    model: "gpt-5.4",
    body: {
      service_tier: "priority",
      tools: [{ type: "code_interpreter", container: { type: "auto" } }],
    },
    read: ofResponses,
    used: { codeSessions: 5, input: 80_000, serviceTier: "priority" },
  },
  {
    name: "pictures of another model",
    label: "vendor-b",
    model: "gpt-5.4-nano",
    body: { tools: [{ type: "image_generation", model: "gpt-image-2" }] },
    read: ofResponses,
    used: {
      input: 1000,
      output: 1000 + 2 * 16_384,
      imageOutput: 2 * 16_384,
      otherModels: [{
        model: "gpt-image-2",
        usage: { input: 900, output: 2 * 16_384, imageOutput: 2 * 16_384 },
      }],
    },
  },
  {
    name: "the caller's max_uses, in the USA",
    label: "vendor-c",
    model: "claude-opus-5",
    body: {
      inference_geo: "us",
      tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 20 }],
    },
    read: ofMessages,
    used: { webSearches: 20, input: 320_000, region: "us" },
  },
  {
    name: "an advisor that costs more than its caller",
    label: "vendor-c",
    model: "claude-haiku-5-5",
    body: { tools: [{ type: "advisor_20260301", name: "advisor", model: "claude-fable-5-1" }] },
    read: ofMessages,
    used: {
      input: 6000,
      output: 1000 + 5 * 8192,
      otherModels: [{ model: "claude-fable-5-1", usage: { input: 5000, output: 5 * 8192 } }],
    },
  },
  {
    name: "a fallback that is dearer than the first",
    label: "vendor-c",
    model: "claude-haiku-5-5",
    body: { fallbacks: [{ model: "claude-fable-5-1" }] },
    read: ofMessages,
    used: {
      input: 2000,
      output: 2000,
      otherModels: [{ model: "claude-fable-5-1", usage: { input: 1000, output: 1000 } }],
    },
  },
  {
    name: "pages that are fetched",
    label: "vendor-c",
    model: "claude-sonnet-4-6",
    body: { tools: [{ type: "web_fetch_20260318", name: "web_fetch", max_content_tokens: 9000 }] },
    read: ofMessages,
    used: { input: 45_000 },
  },
  {
    name: "maps and searches",
    label: "vendor-d",
    model: "gemini-3.8-flash",
    body: { tools: [{ googleSearch: {} }, { google_maps: {} }] },
    read: ofGenerate,
    used: { webSearches: 5, mapsQueries: 5, input: 160_000 },
  },
];

for (const { name, label, model, body, read, used } of cases) {
  Deno.test(`the bound covers ${name}`, () => {
    const price = prices.find(label, model, at)!;
    const priceOf = (other: string) => prices.find(label, other, at);
    const terms = { price, priceOf, vendorReportsCost: false };
    const hosted = chargeHosted(read(body), terms, (path) => path);
    const tier = typeof body.service_tier === "string" ? body.service_tier : undefined;
    const facts: RequestFacts = {
      ...{ model, stream: false, wantsStreamUsage: true, endUser: undefined, choices: 1 },
      ...{ maxOutputTokens: 1000, serviceTier: tier, tags: {}, tagBlocks: [] },
    };
    const { inputTokens } = inputTokenBounds(JSON.stringify({ model, input: "Hello", ...body }));
    const usage: Usage = { output: 1000, ...used, input: used.input ?? 0 };
    const cost = callCost(usage, price, priceOf).nanos;
    const bound = boundOf(price, facts, inputTokens, hosted);
    const plain = boundOf(
      price,
      facts,
      inputTokens,
      chargeHosted({ tools: [], state: [] }, terms, String),
    );
    assert.ok(cost <= bound, `${cost} is more than ${bound}`);
    assert.ok(cost > plain, `without its tools it was ${plain}: the case says nothing`);
    // Not so wide that small balances could make no call.
    assert.ok(bound < cost * 12n, `${bound} for ${cost}`);
  });
}

Deno.test("a region without a price is refused, also one that every object knows", () => {
  const price = prices.find("vendor-c", "claude-opus-5", at)!;
  const terms = { price, priceOf: () => undefined, vendorReportsCost: false };
  for (const region of ["constructor", "__proto__", "mars"]) {
    const work = ofMessages({ inference_geo: region });
    assert.throws(
      () => chargeHosted(work, terms, String),
      (thrown: unknown) => thrown instanceof Fault && thrown.code === "unsupported_parameter",
      region,
    );
  }
});
