import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { decodeRequest } from "./request_decoder.ts";

const decoded = (more: Record<string, unknown>) =>
  finish(decodeRequest({ model: "m", messages: [{ role: "user", content: "hi" }], ...more }));

const format = (more: Record<string, unknown>) => ({
  response_format: { type: "json_schema", json_schema: { name: "n", schema: {}, ...more } },
});
const tool = (more: Record<string, unknown>) => ({
  tools: [{ type: "function", function: { name: "f", ...more } }],
});

/** Settings of a wrong type, which a vendor of the dialect would refuse too, by their path. */
const wrongTypes: Readonly<Record<string, Record<string, unknown>>> = {
  "temperature": { temperature: "0.5" },
  "top_p": { top_p: true },
  "top_k": { top_k: "5" },
  "seed": { seed: "42" },
  "frequency_penalty": { frequency_penalty: {} },
  "presence_penalty": { presence_penalty: [] },
  "logprobs": { logprobs: 2 },
  "top_logprobs": { logprobs: true, top_logprobs: "2" },
  "logit_bias": { logit_bias: [1] },
  "parallel_tool_calls": { parallel_tool_calls: "false" },
  "reasoning_effort": { reasoning_effort: 1 },
  "reasoning": { reasoning: "high" },
  "reasoning.effort": { reasoning: { effort: "hihg" } },
  "reasoning.max_tokens": { reasoning: { max_tokens: "2048" } },
  "verbosity": { verbosity: 1 },
  "service_tier": { service_tier: 1 },
  "prompt_cache_key": { prompt_cache_key: 1 },
  "prompt_cache_options": { prompt_cache_options: "24h" },
  "prompt_cache_retention": { prompt_cache_retention: 24 },
  "metadata": { metadata: "m" },
  "response_format.json_schema.schema": format({ schema: "{}" }),
  "response_format.json_schema.strict": format({ strict: "true" }),
  "tools[0].function.description": tool({ description: 1 }),
  "tools[0].function.parameters": tool({ parameters: "{}" }),
  "tools[0].function.strict": tool({ strict: "true" }),
};

for (const [param, body] of Object.entries(wrongTypes)) {
  Deno.test(`${param} of a wrong type is refused, not left out`, () => {
    assert.throws(() => decoded(body), { code: "invalid_value", param });
  });
}

Deno.test("null and an empty text are not set", () => {
  const names = Object.keys(wrongTypes).filter((name) => !/[.[]/.test(name));
  const body = Object.fromEntries(names.map((name) => [name, null]));
  assert.deepEqual(decoded({ ...body, verbosity: "", reasoning_effort: "" }), decoded({}));
});

Deno.test("OpenRouter's flag for a stream's usage is carried", () => {
  assert.deepEqual(decoded({ stream: true, usage: { include: true } }).unsupported, []);
});

Deno.test("names of assistants are reported only where they tell speakers apart", () => {
  const pathsOf = (...names: unknown[]) =>
    decoded({
      messages: names.flatMap((name) => [
        { role: "user", content: "Go" },
        { role: "assistant", content: "x", name },
      ]),
    }).unsupported.map(({ path }) => path);
  assert.deepEqual(pathsOf("agent", undefined, "agent", null), []);
  assert.deepEqual(pathsOf("one", "two"), ["messages[1].name", "messages[3].name"]);
});

Deno.test("an image whose base64 is broken is refused in words that say so", () => {
  const url = "data:image/png;base64,@@@@";
  const content = [{ type: "image_url", image_url: { url } }];
  assert.throws(() => decoded({ messages: [{ role: "user", content }] }), {
    message: /^messages\[0\]\.content\[0\]\.image_url\.url: .* valid base64/,
  });
});
