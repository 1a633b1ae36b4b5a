import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import type { CanonicalRequest, Part } from "../../kernel/canonical_request.ts";
import type { Target } from "../../kernel/dialect.ts";
import { stateless } from "./conversation/stateless.ts";
import { fitToModel, withoutRefused } from "./models.ts";
import { encodeRequest } from "./request_encoder.ts";

const hi: Part = { type: "text", text: "hi", path: "messages[0].content" };

function encode(fields: Partial<CanonicalRequest>, cacheSettings?: Target["cacheSettings"]) {
  const request: CanonicalRequest = {
    model: "m",
    stream: false,
    system: [],
    turns: [{ role: "user", parts: [hi], path: "messages[0]" }],
    tools: [],
    unsupported: [],
    paths: {},
    ...fields,
  };
  const quirks = { customTools: true } as const;
  const target = { model: "up-model", maxOutputTokens: undefined, quirks };
  return finish(encodeRequest(request, { ...target, ...(cacheSettings && { cacheSettings }) }));
}

function inputOf(turns: CanonicalRequest["turns"], more: Partial<CanonicalRequest> = {}) {
  return encode({ turns, ...more }).body.input as Record<string, unknown>[];
}

function call(id: string, custom = false): Part {
  return { type: "tool-call", id, name: "f", arguments: "", custom, path: "p" };
}

function result(callId: string, more: Record<string, unknown> = {}): Part {
  const parts = [{ type: "text", text: "r", path: "p" }] as const;
  return { type: "tool-result", callId, parts: [...parts], isError: false, path: "p", ...more };
}

Deno.test("a plain request: nothing stored, reasoning asked for sealed, nothing else", () => {
  const { body, losses, emulations } = encode({ system: [{ text: "S", path: "s" }] });
  assert.deepEqual(body, {
    model: "up-model",
    input: [
      { type: "message", role: "developer", content: [{ type: "input_text", text: "S" }] },
      { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
    ],
    store: false,
    include: ["reasoning.encrypted_content"],
  });
  assert.deepEqual(losses, []);
  assert.deepEqual(emulations.toolNames, {});
});

Deno.test("reasoning is asked for sealed where the model has it, translated or passed through", () => {
  const cases = [["gpt-5.6-sol", true], ["o4-mini", true], ["grok-4.3", true]] as const;
  const plain = ["gpt-4.1", "openai/gpt-4o", "ft:gpt-4.1-mini:acme", "gpt-5-chat-latest"];
  for (const [model, reasons] of [...cases, ...plain.map((name) => [name, false] as const)]) {
    assert.equal("include" in fitToModel(encode({}).body, model), reasons, model);
    assert.equal(
      stateless({ input: "hi" }, { model, keepNothing: true })!.sealReasoning,
      reasons,
      model,
    );
  }
});

Deno.test("a function that doesn't say strict is sent as not strict (pitfall 92)", () => {
  const parameters = { type: "object", properties: {}, additionalProperties: false };
  const { body } = encode({
    tools: [
      { type: "function", name: "f", path: "tools[0]" },
      {
        type: "function",
        name: "g",
        strict: true,
        parameters,
        path: "tools[1]",
      },
    ],
  });
  assert.deepEqual(body.tools, [
    { type: "function", name: "f", parameters: null, strict: false },
    { type: "function", name: "g", parameters, strict: true },
  ]);
});

Deno.test("an output limit below the dialect's least is raised to it (pitfall 105)", () => {
  assert.equal(encode({ maxOutputTokens: 5 }).body.max_output_tokens, 16);
  assert.equal(encode({ maxOutputTokens: 17 }).body.max_output_tokens, 17);
});

Deno.test("a JSON schema is flat and keeps its name (pitfall 106)", () => {
  const format = {
    type: "json-schema",
    name: "n",
    schema: { type: "object", additionalProperties: false },
    strict: true,
  } as const;
  assert.deepEqual(encode({ format }).body.text, {
    format: { type: "json_schema", name: "n", schema: format.schema, strict: true },
  });
  assert.deepEqual(encode({ format: { type: "json" }, verbosity: "low" }).body.text, {
    format: { type: "json_object" },
    verbosity: "low",
  });
});

Deno.test("only reasoning that this dialect sealed goes back, under its own id (pitfall 101)", () => {
  const reasoning = (dialect?: "responses" | "messages"): Part => ({
    type: "reasoning",
    text: "T",
    ...(dialect
      ? {
        opaque: {
          dialect,
          kind: dialect === "responses" ? "encrypted_content" : "signature",
          value: "V",
          itemId: "rs_1",
        },
      }
      : {}),
    path: "p",
  });
  const { body, losses } = encode({
    turns: [
      { role: "user", parts: [hi], path: "m" },
      {
        role: "assistant",
        parts: [reasoning(), reasoning("messages"), reasoning("responses"), hi],
        path: "m",
      },
      { role: "user", parts: [hi], path: "m" },
      // The answer was cut, and OpenAI refuses reasoning that nothing follows.
      { role: "assistant", parts: [reasoning("responses")], path: "m" },
      { role: "user", parts: [hi], path: "m" },
    ],
  });
  const question = { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] };
  assert.deepEqual((body.input as unknown[]).slice(1), [
    {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "T" }],
      encrypted_content: "V",
    },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "hi" }] },
    question,
    question,
  ]);
  assert.deepEqual(losses, []);
});

Deno.test("reasoning that another vendor sealed is left out once it is refused", () => {
  const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
  const search = { type: "web_search_call", id: "ws_1", status: "completed" };
  const { id: _, ...searchWithoutId } = search;
  const sealed = { type: "reasoning", summary: [], encrypted_content: "V" };
  const refusals = [
    "The encrypted content V could not be verified. Reason: it could not be decrypted or parsed.",
    '{"error":{"code":"invalid_encrypted_content"}}',
  ];
  for (const refusal of refusals) {
    const plain = withoutRefused({ input: [sealed, search, sealed, call] }, refusal);
    assert.deepEqual(plain, { request: { input: [searchWithoutId, call] } });
    assert.equal(withoutRefused(plain!.request, refusal), undefined);
  }
});

Deno.test("reasoning of a cut answer is left out once it is refused, and no other", () => {
  const refusal =
    "Item 'rs_2' of type 'reasoning' was provided without its required following item.";
  const reasoning = (id: string) => ({
    type: "reasoning",
    id,
    summary: [],
    encrypted_content: "V",
  });
  const said = { type: "message", id: "msg_1", role: "assistant", content: [] };
  const asked = { role: "user", content: "Go on." };
  const whole = [asked, reasoning("rs_1"), said, asked];
  for (const after of [[], [asked]]) {
    const plain = withoutRefused({ input: [...whole, reasoning("rs_2"), ...after] }, refusal);
    assert.deepEqual(plain, { request: { input: [...whole, ...after] } });
    assert.equal(withoutRefused(plain!.request, refusal), undefined);
  }
});

Deno.test("calls are items of their own, outputs come before the user's words", () => {
  const items = inputOf([
    { role: "user", parts: [hi], path: "m" },
    { role: "assistant", parts: [hi, call("a"), call("c", true)], path: "m" },
    { role: "user", parts: [hi, result("a"), result("c", { isError: true })], path: "m" },
  ]);
  assert.deepEqual(items.slice(1), [
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "hi" }] },
    { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
    { type: "custom_tool_call", call_id: "c", name: "f", input: "" },
    { type: "function_call_output", call_id: "a", output: "r" },
    { type: "custom_tool_call_output", call_id: "c", output: "Error: r" },
    { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
  ]);
});

Deno.test("results of a text, of an image and of nothing", () => {
  const image = {
    type: "media",
    kind: "image",
    source: { type: "base64", mimeType: "image/png", data: "AAAA" },
    path: "p",
  };
  const items = inputOf([
    { role: "user", parts: [hi], path: "m" },
    { role: "assistant", parts: [call("a"), call("b"), call("c")], path: "m" },
    {
      role: "user",
      parts: [
        result("a", { parts: [{ type: "text", text: "plain", path: "p" }] }),
        result("b", { parts: [] }),
        result("c", { parts: [image] }),
      ],
      path: "m",
    },
  ]);
  assert.deepEqual(items.slice(4).map((item) => item.output), [
    "plain",
    "",
    [{ type: "input_image", image_url: "data:image/png;base64,AAAA" }],
  ]);
});

Deno.test("a call without its result is refused, naming the ids", () => {
  const turns: CanonicalRequest["turns"] = [
    { role: "user", parts: [hi], path: "m" },
    { role: "assistant", parts: [call("a"), call("b")], path: "m" },
    { role: "user", parts: [result("a")], path: "m" },
  ];
  assert.throws(() => encode({ turns }), { code: "invalid_value", message: /'b'/ });
});

Deno.test("ids longer than 64 are shortened alike on call and result", () => {
  const long = "x".repeat(100);
  const items = inputOf([
    { role: "user", parts: [hi], path: "m" },
    { role: "assistant", parts: [call(long)], path: "m" },
    { role: "user", parts: [result(long)], path: "m" },
  ]);
  assert.equal(items[1]!.call_id, items[2]!.call_id);
  assert.ok(String(items[1]!.call_id).length <= 64);
});

Deno.test("what the dialect has no field for is listed by the caller's path", () => {
  const { losses, body } = encode({
    topK: 3,
    seed: 1,
    stop: ["END"],
    choices: 2,
    frequencyPenalty: 0.5,
    logitBias: { "5": 1 },
    unsupported: [{ path: "prediction", value: {}, weight: "hint" }],
    paths: { stop: "stop", choices: "n", logitBias: "logit_bias", topK: "top_k" },
  });
  assert.deepEqual(losses, [
    { path: "prediction", weight: "hint" },
    { path: "top_k", weight: "hint" },
    { path: "seed", weight: "hint" },
    { path: "frequencyPenalty", weight: "hint" },
    { path: "stop", weight: "meaning" },
    { path: "n", weight: "meaning" },
    { path: "logit_bias", weight: "meaning" },
  ]);
  const sent = Object.keys(body);
  for (const name of ["stop", "n", "seed", "top_k", "logit_bias", "frequency_penalty"]) {
    assert.ok(!sent.includes(name), name);
  }
});

Deno.test("values that change nothing are no loss", () => {
  const { losses } = encode({
    choices: 1,
    frequencyPenalty: 0,
    presencePenalty: 0,
    stop: [],
    logitBias: {},
  });
  assert.deepEqual(losses, []);
});

Deno.test("tool choices in all forms", () => {
  const tools: CanonicalRequest["tools"] = [
    { type: "function", name: "f", path: "t" },
    { type: "custom", name: "c", path: "t" },
  ];
  const choose = (toolChoice: NonNullable<CanonicalRequest["toolChoice"]>) =>
    encode({ tools, toolChoice }).body.tool_choice;
  assert.equal(choose({ mode: "none" }), "none");
  assert.equal(choose({ mode: "required" }), "required");
  assert.deepEqual(choose({ mode: "required", names: ["c"] }), { type: "custom", name: "c" });
  assert.deepEqual(choose({ mode: "auto", names: ["f", "c"] }), {
    type: "allowed_tools",
    mode: "auto",
    tools: [{ type: "function", name: "f" }, { type: "custom", name: "c" }],
  });
  assert.equal("tool_choice" in encode({ toolChoice: { mode: "auto" } }).body, false);
});

Deno.test("names the dialect doesn't take are aliased everywhere and undone", () => {
  const name = "ns.tool:x";
  const { body, emulations } = encode({
    tools: [{ type: "function", name, path: "t" }],
    toolChoice: { mode: "required", names: [name] },
  });
  const [tool] = body.tools as { name: string }[];
  assert.match(tool!.name, /^[A-Za-z0-9_-]{1,64}$/);
  assert.deepEqual(body.tool_choice, { type: "function", name: tool!.name });
  assert.deepEqual(emulations.toolNames, { [tool!.name]: name });
});

Deno.test("reasoning: effort as it is, a budget as effort, a summary where it can be shown", () => {
  assert.deepEqual(encode({ reasoning: { effort: "high", show: true } }).body.reasoning, {
    effort: "high",
    summary: "auto",
  });
  assert.deepEqual(encode({ reasoning: { budgetTokens: 4096 } }).body.reasoning, {
    effort: "medium",
  });
  assert.deepEqual(encode({ reasoning: { budgetTokens: 0 } }).body.reasoning, { effort: "none" });
  assert.equal("reasoning" in encode({ reasoning: { show: false } }).body, false);
});

Deno.test("another vendor's files, sound and video without a form are losses that leave a note", () => {
  const media = (kind: "audio" | "video" | "file", source: object): Part => ({
    type: "media",
    kind,
    source: source as never,
    path: `messages[0].content[1]`,
  });
  const turns = (part: Part) => [{ role: "user" as const, parts: [hi, part], path: "m" }];
  for (
    const part of [
      media("file", { type: "vendor-file", id: "f" }),
      media("video", { type: "url", url: "https://x/v.mp4" }),
    ]
  ) {
    const { body, losses } = encode({ turns: turns(part) });
    assert.deepEqual(losses, [{ path: "messages[0].content[1]", weight: "meaning" }]);
    assert.match(JSON.stringify(body.input), /\[(file|video) left out\]/);
  }
});

Deno.test("the settings of OpenAI's prompt cache reach its vendor, elsewhere they are reported", () => {
  const settings = {
    promptCacheOptions: { mode: "explicit", ttl: "30m" },
    promptCacheRetention: "24h",
    paths: { promptCacheOptions: "options", promptCacheRetention: "retention" },
  };
  const own = encode(settings, "all");
  assert.deepEqual(own.losses, []);
  assert.deepEqual(own.body.prompt_cache_options, settings.promptCacheOptions);
  assert.equal(own.body.prompt_cache_retention, "24h");
  const other = encode(settings, "key");
  assert.deepEqual(other.losses.map(({ path }) => path), ["options", "retention"]);
  assert.doesNotMatch(JSON.stringify(other.body), /prompt_cache_/);
});
