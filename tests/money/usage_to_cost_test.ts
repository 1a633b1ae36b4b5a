import assert from "@std/assert";
import { calcPrice, extractUsage, findProvider } from "@pydantic/genai-prices";
import { nanosToUsd, roundPicoToNano } from "../../src/base/money.ts";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { Dialect } from "../../src/dialects/kernel/dialect.ts";
import { chat } from "../../src/dialects/text/chat/mod.ts";
import { generate } from "../../src/dialects/text/generate/mod.ts";
import { messages } from "../../src/dialects/text/messages/mod.ts";
import { responses } from "../../src/dialects/text/responses/mod.ts";
import { callCost } from "../../src/pricing/call_cost.ts";
import { bundledPrices, createPrices } from "../../src/pricing/table/prices.ts";
import { publicProviders } from "../../src/pricing/sources/public_prices.ts";
import { createRegistry } from "../../src/vendors/registry.ts";
import { finish } from "../../src/base/steps.ts";

/**
 * From a vendor's own answer to our cost: decoded by the dialect, priced by the bundled table. The
 * public package reads the same usage with its own extractors. Where it comes to something else,
 * `theirs` holds that and `why`; a case whose difference is gone fails.
 */
interface Case {
  name: string;
  label: string;
  model: string;
  dialect: DialectName;
  usage: Record<string, unknown>;
  /** Beside the usage in the answer. */
  answer?: Record<string, unknown>;
  /** USD. */
  ours: string;
  theirs?: string;
  why?: string;
  /** The package's name of the answer's shape. */
  flavor?: string;
}

const openai = { label: "vendor-b", dialect: "chat", flavor: "chat" } as const;
const openaiResponses = { label: "vendor-b", dialect: "responses", flavor: "responses" } as const;
const anthropic = { label: "vendor-c", dialect: "messages", flavor: "default" } as const;
const google = { label: "vendor-d", dialect: "generate", flavor: "default" } as const;
const xai = { label: "vendor-g", dialect: "chat", flavor: "chat" } as const;

const noTiers = "The package knows no service tiers.";

const cases: readonly Case[] = [
  {
    ...openai,
    name: "chat: cached prompt and reasoning inside the totals",
    model: "gpt-5-mini",
    usage: {
      ...{ prompt_tokens: 2006, completion_tokens: 300, total_tokens: 2306 },
      prompt_tokens_details: { cached_tokens: 1920, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 192, audio_tokens: 0 },
    },
    ours: "0.000669500",
  },
  {
    ...openai,
    name: "chat: pricing.md §4 vector 4, above the long-context step",
    model: "gpt-6-sol",
    usage: {
      ...{ prompt_tokens: 300_000, completion_tokens: 1000, total_tokens: 301_000 },
      prompt_tokens_details: { cached_tokens: 100_000 },
    },
    ours: "0.855000000",
  },
  {
    ...openai,
    name: "chat: exactly at the step the base prices hold",
    model: "gpt-6-sol",
    usage: { prompt_tokens: 272_000, completion_tokens: 0, total_tokens: 272_000 },
    ours: "0.544000000",
  },
  {
    ...openai,
    name: "chat: cache writes",
    model: "gpt-5.6-luna",
    usage: {
      ...{ prompt_tokens: 5000, completion_tokens: 10, total_tokens: 5010 },
      prompt_tokens_details: { cached_tokens: 1000, cache_write_tokens: 3000 },
    },
    ours: "0.000982000",
  },
  {
    ...openai,
    name: "chat: the tier that the vendor used",
    model: "gpt-5-mini",
    usage: { prompt_tokens: 1000, completion_tokens: 1000, total_tokens: 2000 },
    answer: { service_tier: "flex" },
    ours: "0.001125000",
    theirs: "0.002250000",
    why: noTiers,
  },
  {
    ...openaiResponses,
    name: "responses: cached and reasoning tokens",
    model: "gpt-5.4",
    usage: {
      ...{ input_tokens: 2100, output_tokens: 512, total_tokens: 2612 },
      input_tokens_details: { cached_tokens: 2048 },
      output_tokens_details: { reasoning_tokens: 448 },
    },
    ours: "0.008322000",
  },
  {
    ...openaiResponses,
    name: "responses: searches, which stand in the output",
    model: "gpt-5.5",
    usage: {
      ...{ input_tokens: 100, output_tokens: 20, total_tokens: 120 },
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
    },
    answer: {
      output: [
        { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search" } },
        { type: "web_search_call", id: "ws_2", status: "completed", action: { type: "open_page" } },
      ],
    },
    ours: "0.011100000",
    theirs: "0.001100000",
    why: "The package reads usage alone, which doesn't tell searches here.",
  },
  {
    ...openaiResponses,
    name: "responses: cached images of the image tool",
    model: "gpt-5-mini",
    usage: { input_tokens: 20, output_tokens: 10, total_tokens: 30 },
    answer: {
      tools: [{ type: "image_generation", model: "gpt-image-2" }],
      tool_usage: {
        image_gen: {
          ...{ input_tokens: 1100, output_tokens: 100, total_tokens: 1200, cached_tokens: 800 },
          input_tokens_details: { image_tokens: 1000, text_tokens: 100 },
          cached_tokens_details: { cached_image_tokens: 800, cached_text_tokens: 0 },
        },
      },
    },
    // 100 of text × 5, 200 of images × 8, 800 from the cache × 2 and 100 drawn × 30 per million.
    ours: "0.006725000",
    theirs: "0.000025000",
    why: "The package reads usage alone, which leaves the tool's tokens out.",
  },
  {
    ...openaiResponses,
    name: "responses: an SVG, which another model writes from the tool's image",
    model: "gpt-5-mini",
    usage: { input_tokens: 20, output_tokens: 10, total_tokens: 30 },
    answer: {
      tools: [{ type: "image_generation", model: "gpt-image-2", output_format: "svg" }],
      tool_usage: {
        image_gen: { input_tokens: 100, output_tokens: 100, total_tokens: 200 },
      },
      output: [{
        ...{ type: "image_generation_call", id: "ig_1", status: "completed", result: "PHN2Zz4=" },
        svg_usage: {
          ...{ model: "gpt-5.5", input_tokens: 1000, output_tokens: 2000, total_tokens: 3000 },
          reasoning_tokens: 500,
        },
      }],
    },
    // 100 of text × 5 and 100 drawn × 30; the author's 1000 × 5 and 2000 × 30 per million.
    ours: "0.068525000",
    theirs: "0.000025000",
    why: "The package reads usage alone, which leaves the tool's tokens out.",
  },
  {
    ...openaiResponses,
    name: "responses: cache writes with both lifetimes",
    model: "gpt-6.1-terra",
    usage: {
      ...{ input_tokens: 3000, output_tokens: 0, total_tokens: 3000 },
      input_tokens_details: {
        cached_tokens: 0,
        cache_write_tokens: 3000,
        cache_write_tokens_details: { ttl_30m_tokens: 1000, ttl_12h_tokens: 2000 },
      },
    },
    ours: "0.006250000",
    theirs: "none",
    why: "The package doesn't have the model.",
  },
  {
    ...anthropic,
    name: "messages: pricing.md §4 vector 1, cache numbers beside the input",
    model: "claude-sonnet-4-6",
    usage: {
      ...{ input_tokens: 3, cache_creation_input_tokens: 12_304, cache_read_input_tokens: 0 },
      output_tokens: 550,
    },
    ours: "0.054399000",
  },
  {
    ...anthropic,
    name: "messages: writes of both lifetimes, reads, searches",
    model: "claude-opus-5-5",
    usage: {
      ...{ input_tokens: 10, cache_read_input_tokens: 1000, cache_creation_input_tokens: 5000 },
      cache_creation: { ephemeral_5m_input_tokens: 3000, ephemeral_1h_input_tokens: 2000 },
      server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 },
      output_tokens: 700,
      output_tokens_details: { thinking_tokens: 300 },
    },
    ours: "0.065240000",
  },
  {
    ...anthropic,
    name: "messages: pricing.md §4 vector 5, the whole request at the upper prices",
    model: "claude-haiku-5-5",
    usage: {
      ...{ input_tokens: 50, cache_read_input_tokens: 99_950, cache_creation_input_tokens: 1 },
      output_tokens: 10,
    },
    ours: "0.005048125",
    theirs: "none",
    why: "The package doesn't have the model.",
  },
  {
    ...anthropic,
    name: "messages: fast mode",
    model: "claude-opus-5-5",
    usage: { input_tokens: 1000, output_tokens: 1000, speed: "fast" },
    ours: "0.048000000",
    theirs: "0.024000000",
    why: noTiers,
  },
  {
    ...anthropic,
    name: "messages: an advisor's part at its own model's price",
    model: "claude-sonnet-5",
    usage: {
      ...{ input_tokens: 1000, output_tokens: 100 },
      iterations: [
        { type: "message", input_tokens: 1000, output_tokens: 100 },
        {
          ...{ type: "advisor_message", model: "claude-opus-5" },
          ...{ input_tokens: 2000, output_tokens: 50 },
        },
      ],
    },
    ours: "0.014250000",
    theirs: "0.003000000",
    why: "The package reads the top level alone, which leaves the advisor out.",
  },
  {
    ...google,
    name: "generate: pricing.md §4 vector 3, thoughts beside the candidates",
    model: "gemini-2.5-flash",
    usage: {
      ...{ promptTokenCount: 20, candidatesTokenCount: 151, thoughtsTokenCount: 382 },
      totalTokenCount: 553,
    },
    ours: "0.001338500",
  },
  {
    ...google,
    name: "generate: audio, part of it cached, and results of the vendor's tools",
    model: "gemini-2.5-flash",
    usage: {
      ...{ promptTokenCount: 2000, candidatesTokenCount: 100, cachedContentTokenCount: 800 },
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 500 },
        { modality: "AUDIO", tokenCount: 1500 },
      ],
      cacheTokensDetails: [
        { modality: "TEXT", tokenCount: 200 },
        { modality: "AUDIO", tokenCount: 600 },
      ],
      toolUsePromptTokenCount: 40,
      totalTokenCount: 2140,
    },
    ours: "0.001318000",
  },
  {
    ...google,
    name: "generate: images made",
    model: "gemini-2.5-flash-image",
    usage: {
      ...{ promptTokenCount: 12, candidatesTokenCount: 1310, totalTokenCount: 1322 },
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1290 }],
    },
    ours: "0.038753600",
  },
  {
    ...google,
    name: "generate: above the long-context step, at half the price",
    model: "gemini-2.5-pro",
    usage: {
      ...{ promptTokenCount: 200_001, candidatesTokenCount: 1000, totalTokenCount: 201_001 },
      serviceTier: "flex",
    },
    ours: "0.257501250",
    theirs: "0.515002500",
    why: noTiers,
  },
  {
    ...xai,
    name: "chat with additive reasoning: pricing.md §4 vector 2",
    model: "grok-4.3",
    usage: {
      ...{ prompt_tokens: 36, completion_tokens: 10, total_tokens: 736 },
      completion_tokens_details: { reasoning_tokens: 690 },
    },
    ours: "0.001795000",
  },
  {
    ...xai,
    name: "chat with additive reasoning: from the long-context step on",
    model: "grok-4.6",
    usage: {
      ...{ prompt_tokens: 200_000, completion_tokens: 1, total_tokens: 200_001 },
      prompt_tokens_details: { cached_tokens: 150_000 },
    },
    ours: "0.350012000",
  },
  {
    ...xai,
    name: "chat with additive reasoning: where the total says it is inside",
    model: "grok-4.3",
    usage: {
      ...{ prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
      completion_tokens_details: { reasoning_tokens: 40 },
    },
    ours: "0.000250000",
    theirs: "0.000350000",
    why: "The total shows that the reasoning is inside (translation.md §9); the package adds it.",
  },
];

const now = new Date("2026-11-21T12:00:00Z");
const registry = createRegistry({}, []);
const prices = createPrices({ bundled: bundledPrices(), familyOf: (name) => registry.find(name) });
const dialects: Record<DialectName, Dialect> = { chat, responses, messages, generate };

for (const one of cases) {
  Deno.test(`usage to cost: ${one.label} ${one.name}`, () => {
    assert.equal(ourCost(one), one.ours);
    assert.equal(theirCost(one), one.theirs ?? one.ours, one.why);
    assert.equal(one.theirs === undefined, one.why === undefined, "a difference has its reason");
    assert.notEqual(one.theirs, one.ours, "the difference is gone: take it out");
  });
}

Deno.test("the aggregator's own cost is what counts, and its list price what it is compared with", () => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: 0.00000123 };
  const decoded = usageOf({
    ...{ label: "vendor-f", dialect: "chat", model: "openai/gpt-6-luna" },
    ...{ name: "", usage, ours: "" },
  });
  assert.equal(decoded.vendorCostUsd, "0.000001230000");
});

function usageOf({ label, model, dialect, usage, answer = {} }: Case) {
  const json = { ...shell(dialect, model), ...answer, [usageField(dialect)]: usage };
  const { quirks } = registry.find(label)!;
  const events = finish(dialects[dialect].decodeAnswer(json, quirks));
  const told = events.findLast((event) => event.type === "usage");
  return told?.type === "usage" ? told.usage : assert.fail("the answer tells no usage");
}

function ourCost(one: Case): string {
  const priceOf = (model: string) => prices.find(one.label, model, now);
  const row = priceOf(one.model) ?? assert.fail(`no price for ${one.model}`);
  return nanosToUsd(callCost(usageOf(one), row, priceOf).nanos);
}

function theirCost({ label, model, dialect, usage, flavor }: Case): string {
  const providerId = publicProviders[label]![0]!;
  const provider = findProvider({ providerId })!;
  const json = { model, modelVersion: model, [usageField(dialect)]: usage };
  const extracted = extractUsage(provider, json, flavor);
  const found = calcPrice(extracted.usage, model, { providerId, timestamp: now });
  if (!found) return "none";
  return nanosToUsd(roundPicoToNano(BigInt(Math.round(found.total_price * 1e12))));
}

function usageField(dialect: DialectName): string {
  return dialect === "generate" ? "usageMetadata" : "usage";
}

/** An answer of one word, as each vendor sends it. */
function shell(dialect: DialectName, model: string): Record<string, unknown> {
  const id = "id-1";
  switch (dialect) {
    case "chat": {
      const message = { role: "assistant", content: "hi" };
      const choices = [{ index: 0, finish_reason: "stop", message }];
      return { id, object: "chat.completion", created: 1, model, choices };
    }
    case "responses": {
      const content = [{ type: "output_text", text: "hi", annotations: [] }];
      const item = { type: "message", id: "m", role: "assistant", status: "completed", content };
      return { id, object: "response", model, status: "completed", output: [item] };
    }
    case "messages": {
      const content = [{ type: "text", text: "hi" }];
      return { id, type: "message", role: "assistant", model, content, stop_reason: "end_turn" };
    }
    case "generate": {
      const content = { role: "model", parts: [{ text: "hi" }] };
      return { modelVersion: model, candidates: [{ index: 0, content, finishReason: "STOP" }] };
    }
  }
}
