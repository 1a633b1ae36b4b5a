import assert from "@std/assert";
import { readUsage, writeTotals, writeUsage } from "./usage.ts";

function read(raw: Record<string, unknown>): Record<string, unknown> {
  const { raw: kept, ...usage } = readUsage(raw)!;
  assert.equal(kept, raw);
  return usage;
}

Deno.test("cached tokens stand beside input_tokens and inside the neutral input", () => {
  // Pitfall 108.
  assert.deepEqual(
    read({
      input_tokens: 3,
      cache_creation_input_tokens: 12_304,
      cache_read_input_tokens: 0,
      output_tokens: 550,
    }),
    { input: 12_307, cacheRead: 0, cacheWrite: 12_304, output: 550 },
  );
});

Deno.test("absent and null counts are absent, zero is zero", () => {
  assert.deepEqual(read({ input_tokens: 5, cache_read_input_tokens: null, output_tokens: 0 }), {
    input: 5,
    output: 0,
  });
  assert.equal(readUsage({ cache_read_input_tokens: 5 }), undefined);
  assert.equal(readUsage(null), undefined);
});

Deno.test("cache writes are split by lifetime, also where a later total has no split", () => {
  const split = (total: number, short: number, long: number) =>
    read({
      input_tokens: 0,
      output_tokens: 0,
      cache_creation_input_tokens: total,
      cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
    });
  const of = (short: number, long: number) => (
    { input: short + long, cacheWrite: short, cacheWriteLong: long, output: 0 }
  );
  assert.deepEqual(split(30, 10, 20), of(10, 20));
  assert.deepEqual(split(40, 10, 20), of(20, 20));
  assert.deepEqual(split(40, 0, 20), of(0, 40));
  assert.deepEqual(split(40, 30, 0), of(40, 0));
});

Deno.test("thinking, searches and tier are reported", () => {
  const raw = {
    input_tokens: 1,
    output_tokens: 9,
    output_tokens_details: { thinking_tokens: 4 },
    server_tool_use: { web_search_requests: 2, web_fetch_requests: 0 },
    service_tier: "priority",
  };
  assert.deepEqual(read(raw), {
    input: 1,
    output: 9,
    reasoning: 4,
    webSearches: 2,
    serviceTier: "priority",
  });
  assert.equal(read({ ...raw, speed: "fast" }).serviceTier, "fast");
});

Deno.test("compaction and advisor passes are added, declined attempts are not", () => {
  const pass = (type: string, input: number, output: number, model?: string) => (
    { type, input_tokens: input, output_tokens: output, ...(model ? { model } : {}) }
  );
  assert.deepEqual(
    read({
      input_tokens: 612,
      output_tokens: 2_819,
      iterations: [pass("compaction", 60_385, 522), pass("message", 612, 2_819)],
    }),
    {
      input: 60_997,
      output: 3_341,
      otherModels: [{ usage: { input: 60_385, output: 522 } }],
    },
  );
  assert.deepEqual(
    read({
      input_tokens: 10,
      output_tokens: 20,
      iterations: [pass("message", 10, 20), pass("advisor_message", 100, 200, "claude-opus-4-7")],
    }),
    {
      input: 110,
      output: 220,
      otherModels: [{ model: "claude-opus-4-7", usage: { input: 100, output: 200 } }],
    },
  );
  assert.deepEqual(
    read({
      input_tokens: 412,
      output_tokens: 264,
      iterations: [
        pass("message", 408, 0, "claude-fable-5"),
        pass("fallback_message", 412, 264, "claude-opus-4-8"),
      ],
    }),
    {
      input: 412,
      output: 264,
      otherModels: [{ model: "claude-opus-4-8", usage: { input: 412, output: 264 } }],
    },
  );
});

Deno.test("all passes of the fallback that answered are its own, earlier ones too", () => {
  const pass = (type: string, model: string, input: number, output: number) => (
    { type, model, input_tokens: input, output_tokens: output }
  );
  assert.deepEqual(
    read({
      input_tokens: 1_312,
      output_tokens: 294,
      iterations: [
        pass("message", "claude-fable-5", 408, 0),
        pass("message", "claude-opus-4-8", 412, 30),
        pass("fallback_message", "claude-opus-4-8", 900, 264),
      ],
    })?.otherModels,
    [
      { model: "claude-opus-4-8", usage: { input: 412, output: 30 } },
      { model: "claude-opus-4-8", usage: { input: 900, output: 264 } },
    ],
  );
});

Deno.test("written usage has every key of the type, input without the cache", () => {
  // Pitfall 109.
  assert.deepEqual(
    writeUsage({ input: 1_000, cacheRead: 800, output: 5, serviceTier: "default" }),
    {
      input_tokens: 200,
      cache_creation_input_tokens: null,
      cache_read_input_tokens: 800,
      cache_creation: null,
      output_tokens: 5,
      output_tokens_details: null,
      server_tool_use: null,
      inference_geo: null,
      service_tier: "standard",
      speed: null,
    },
  );
  assert.equal(writeTotals({ input: 5, cacheRead: 9, output: 1 }).input_tokens, 0);
});

Deno.test("a total stands for no missing count: it isn't part of the dialect", () => {
  assert.deepEqual(read({ input_tokens: 5, total_tokens: 14 }), {
    input: 5,
    output: 0,
    unreported: "output",
  });
});
