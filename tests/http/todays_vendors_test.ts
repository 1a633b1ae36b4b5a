/** What today's vendors and their clients say beside their bodies, and what they refuse. */
import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import assert from "@std/assert";
import { callControl } from "../../src/admin/control.ts";
import type { FakeExchange } from "../support/fake_vendor.ts";
import { shared } from "../support/service.ts";
import { event, streamEvents } from "../support/service_scripted.ts";
import {
  answered,
  hello,
  messagesAnswer,
  responsesAnswer,
  serviceKeys,
  startTodaysVendors,
} from "../support/todays_vendors.ts";

const world = shared(startTodaysVendors);

/** Refuses sampling as vendor-b's reasoning models do, on whichever endpoint they are asked. */
function refusing(exchange: FakeExchange) {
  const body = JSON.parse(exchange.request.body) as Record<string, unknown>;
  const refused = ["temperature", "top_p", "frequency_penalty", "presence_penalty", "stop"]
    .concat("logit_bias", "top_k").find((name) => name in body);
  if (refused === undefined) return answered(exchange);
  const message = `Unsupported parameter: '${refused}' is not supported with this model.`;
  return exchange.answer(400, {
    error: { message, type: "invalid_request_error", param: refused, code: "unsupported_value" },
  });
}

/** What the library throws. */
async function refusal(call: Promise<unknown>): Promise<APIError> {
  const thrown: unknown = await call.then(() => undefined, (thrown) => thrown);
  if (thrown instanceof APIError) return thrown;
  throw new Error(`no refusal: ${thrown}`);
}

/** Not in the published type of every answer. */
function idOf(answer: { _request_id?: string | null | undefined } | object): unknown {
  return "_request_id" in answer ? answer._request_id : undefined;
}

Deno.test("Google's client with its program's sampling is answered by reasoning models", async () => {
  world().play(refusing);
  const { baseUrl, key } = world();
  const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${baseUrl}/chat` } });
  for (const model of ["vendor-b/gpt-5-mini", "vendor-b/gpt-5.6-sol", "vendor-g/grok-4.3"]) {
    const answer = await client.models.generateContent({
      model,
      contents: "Hi",
      config: { topK: 64, ...(model.includes("grok") ? {} : { topP: 0.95, temperature: 0.7 }) },
    });
    assert.match(answer.text ?? "", /I am well|Fine/);
  }
  world().play();
});

Deno.test("dropped fields are named; a strict caller is refused instead", async () => {
  world().play(refusing);
  const path = "/chat/v1/models/vendor-b/gpt-5-mini:generateContent";
  const body = {
    contents: [{ parts: [{ text: "Hi" }] }],
    generationConfig: { topP: 0.95, temperature: 1, stopSequences: ["END"] },
  };
  const usual = await world().post(path, body);
  assert.equal(usual.status, 200, await usual.text());
  const losses = usual.headers.get("x-translation-loss")!.split(/, ?/).toSorted();
  assert.deepEqual(losses, ["generationConfig.stopSequences", "generationConfig.topP"]);
  const strict = await world().post(path, body, { "x-translation-mode": "strict" });
  assert.equal(strict.status, 400);
  await strict.body?.cancel();
  world().play();
});

Deno.test("a chat call's older output limit is renamed for models that refuse it, and for no others", async () => {
  world().play();
  const body = '"messages":[{"role":"user","content":"max_tokens"}],"max_tokens":1.6e4,"x":1.0}';
  const renamed = body.replace('"max_tokens":', '"max_completion_tokens":');
  const models = [
    ["vendor-b", "gpt-5-mini", renamed],
    ["vendor-b", "gpt-5.6-sol", renamed],
    ["vendor-b", "o4-mini", renamed],
    ["vendor-b", "gpt-5-chat-latest", body],
    ["vendor-b", "gpt-4.1", body],
    ["vendor-g", "grok-4.3", body],
  ] as const;
  for (const [label, model, sent] of models) {
    // Of a model without a price here the caller pays the vendor.
    const authorization = `Bearer ${world().key};sk-of-the-caller`;
    const text = `{"model":"${label}/${model}",${body}`;
    const answer = await world().post("/chat/v1/chat/completions", text, { authorization });
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(answer.headers.get("x-translation-loss"), null);
    const announced = sent === renamed ? "max_tokens=max_completion_tokens" : null;
    assert.equal(answer.headers.get("x-renamed-fields"), announced);
    assert.equal(world().last().body, `{"model":"${model}",${sent}`);
  }
});

Deno.test("a strict caller, or key, gets its bytes through as they are, and the model's own refusal", async () => {
  const message = "Unsupported parameter: 'max_tokens' is not supported with this model.";
  world().play((exchange) =>
    "max_tokens" in JSON.parse(exchange.request.body)
      ? exchange.answer(400, {
        error: { message, type: "invalid_request_error", code: "unsupported_parameter" },
      })
      : answered(exchange)
  );
  const body =
    '{"model":"gpt-5-mini","max_tokens":1.6e4,"messages":[{"role":"user","content":"x"}]}';
  const strictKey = (await world().createKey("--translation-mode", "strict")).key;
  const strict = [{ "x-translation-mode": "strict" }, { authorization: `Bearer ${strictKey}` }];
  for (const headers of strict) {
    const answer = await world().post("/vendor-b/v1/chat/completions", body, headers);
    assert.equal(answer.status, 400);
    assert.equal(answer.headers.get("x-renamed-fields"), null);
    assert.match(await answer.text(), /'max_tokens' is not supported/);
    assert.equal(world().last().body, body);
  }
  const plain = body.replace('"max_tokens":1.6e4,', "");
  const slip = await world().post("/vendor-b/v1/chat/completions", plain, {
    "x-translation-mode": "Strict",
  });
  assert.equal(slip.status, 400);
  assert.match(await slip.text(), /X-Translation-Mode: expected 'strict', 'lenient' or 'default'/);
  const renamed = { authorization: `Bearer ${strictKey}`, "x-translation-mode": "default" };
  const answer = await world().post("/vendor-b/v1/chat/completions", body, renamed);
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(answer.headers.get("x-renamed-fields"), "max_tokens=max_completion_tokens");
  world().play();
});

Deno.test("a wrong word for cache marks is refused whichever vendor is asked, also in a count", async () => {
  world().play();
  const messages = [{ role: "user", content: "x" }];
  const bodies = [
    ["/vendor-b/v1/chat/completions", { model: "gpt-5-mini", messages }],
    ["/chat/v1/chat/completions", { model: "anthropic/claude-haiku-4-5", messages }],
    ["/chat/v1/messages/count_tokens", { model: "openai/gpt-5-mini", messages }],
  ] as const;
  for (const [path, body] of bodies) {
    const answer = await world().post(path, body, { "x-prompt-cache": "On" });
    assert.equal(answer.status, 400, path);
    assert.match(await answer.text(), /X-Prompt-Cache: expected 'on' or 'off'/, path);
  }
});

Deno.test("open prefixes reach their own vendor in its own dialect, and no other", async () => {
  world().play();
  const headers = {
    "anthropic-new": "1",
    "anthropic-version": "2026-10-21",
    "openai-new": "2",
    "openai-organization": "org-callers",
    "x-grok-conv-id": "3",
    "x-hf-bill-to": "callers-org",
    "x-codex-turn-state": "4",
    originator: "codex_cli_rs",
  };
  const sent = async (path: string, model: string, own = false) => {
    const body = { model, max_tokens: 99, messages: hello };
    const { key } = world();
    const authorization = own ? { authorization: `Bearer ${key};sk-of-the-caller` } : {};
    const answer = await world().post(path, body, { ...headers, ...authorization });
    assert.equal(answer.status, 200, await answer.text());
    const { headers: got } = world().last();
    return Object.entries(headers).filter(([name, value]) => got[name] === value)
      .map(([name]) => name);
  };
  const chat = "/chat/v1/chat/completions";
  const messages = "/chat/v1/messages";
  assert.deepEqual(await sent(messages, "vendor-c/claude-haiku-4-5"), [
    "anthropic-new",
    "anthropic-version",
  ]);
  const codex = ["x-codex-turn-state", "originator"];
  assert.deepEqual(await sent(chat, "vendor-b/gpt-4.1"), ["openai-new", ...codex]);
  const owned = ["openai-new", "openai-organization", ...codex];
  assert.deepEqual(await sent(chat, "vendor-b/gpt-4.1", true), owned);
  assert.deepEqual(await sent(chat, "vendor-g/grok-4.3"), ["x-grok-conv-id"]);
  assert.deepEqual(await sent(chat, "vendor-a/kimi-k2.6"), []);
  assert.deepEqual(await sent(chat, "vendor-a/kimi-k2.6", true), ["x-hf-bill-to"]);
  // Translated: the version that our encoder was written for, and none of the caller's words.
  assert.deepEqual(await sent(chat, "vendor-c/claude-haiku-4-5"), []);
  assert.equal(world().last().headers["anthropic-version"], "2023-06-01");
  assert.deepEqual(await sent(messages, "vendor-b/gpt-4.1", true), []);
});

Deno.test("the vendor's id comes back on answers and errors, ours under the library's name", async () => {
  const { baseUrl, key } = world();
  const client = new Anthropic({ baseURL: `${baseUrl}/chat`, apiKey: key, maxRetries: 0 });
  const ask = (model: string, id: string) =>
    client.messages.create(
      { model, max_tokens: 99, messages: [{ role: "user", content: "Hi" }] },
      { headers: { "x-request-id": id } },
    ).withResponse();
  world().play((exchange) => answered(exchange, { "request-id": "req_c" }));
  const good = await ask("vendor-c/claude-haiku-4-5", "mine-1");
  assert.equal(idOf(good.data), "mine-1");
  assert.equal(good.request_id, "mine-1");
  assert.equal(good.response.headers.get("x-vendor-request-id"), "req_c");
  world().play((exchange) => answered(exchange, { "x-request-id": "req_b" }));
  const translated = await ask("vendor-b/gpt-4.1", "mine-2");
  assert.equal(idOf(translated.data), "mine-2");
  assert.equal(translated.response.headers.get("x-vendor-request-id"), "req_b");
  world().play((exchange) =>
    exchange.answer(400, {
      type: "error",
      error: { type: "invalid_request_error", message: "No." },
    }, { "request-id": "req_bad" })
  );
  for (const model of ["vendor-c/claude-haiku-4-5", "vendor-b/gpt-4.1"]) {
    const failure = await refusal(ask(model, `mine-${model}`));
    assert.equal(failure.requestID, `mine-${model}`);
    assert.equal(failure.headers?.get("x-vendor-request-id"), "req_bad");
  }
  // Refused before any vendor was asked.
  const unknown = await world().fetch("/chat/v1/messages", { headers: { authorization: "" } });
  assert.equal(unknown.headers.get("request-id"), unknown.headers.get("x-request-id"));
  await unknown.body?.cancel();
  // A stream that failed before its first event.
  world().play((exchange) =>
    exchange.stream(
      ['event: error\ndata: {"type":"error","error":{"type":"api_error","message":"x"}}\n\n'],
      { "request-id": "req_stream" },
    )
  );
  const body = {
    model: "vendor-c/claude-haiku-4-5",
    max_tokens: 9,
    messages: hello,
    stream: true,
  };
  const failed = await world().post("/chat/v1/messages", body);
  assert.equal(failed.headers.get("x-vendor-request-id"), "req_stream");
  await failed.body?.cancel();
  world().play();
});

Deno.test("details of a refusal reach the library that acts on them, without secrets", async () => {
  const details = {
    error_code: "thread_unsupported_request",
    unsupported: ["thread", `key ${serviceKeys.c}`],
    organization_id: "0f2c",
    deep: { [`x ${serviceKeys.c}`]: `at ${world().vendor.url}/c` },
  };
  world().play((exchange) =>
    exchange.answer(400, {
      type: "error",
      error: { type: "invalid_request_error", message: "No threads.", details },
    })
  );
  const { baseUrl, key } = world();
  const client = new Anthropic({ baseURL: `${baseUrl}/chat`, apiKey: key, maxRetries: 0 });
  const failure = await refusal(client.messages.create({
    model: "vendor-c/claude-haiku-4-5",
    max_tokens: 99,
    messages: [{ role: "user", content: "Hi" }],
  }));
  assert.deepEqual(failure.details, {
    error_code: "thread_unsupported_request",
    unsupported: ["thread", "key ***"],
    deep: { "x ***": "at [address]" },
  });
  // Other dialects have no such field.
  const chat = await world().post("/chat/v1/chat/completions", {
    model: "vendor-c/claude-haiku-4-5",
    messages: hello,
  });
  assert.equal("details" in (await chat.json()).error, false);
  // The operator's own problems are not shown.
  world().play((exchange) =>
    exchange.answer(401, {
      type: "error",
      error: { type: "authentication_error", message: "No.", details: { error_code: "x" } },
    })
  );
  const refused = await world().post("/chat/v1/messages", {
    model: "vendor-c/claude-haiku-4-5",
    max_tokens: 9,
    messages: hello,
  });
  const { code, details: own } = (await refused.json()).error;
  assert.deepEqual([code, own], [
    "upstream_authentication_failed",
    { error_code: "upstream_authentication_failed" },
  ]);
  world().play();
});

Deno.test("a system message that only changes the effort needs no content, at any vendor", async () => {
  const messages = [...hello, { role: "system", output_config: { effort: "low" } }];
  world().play();
  const claude = { model: "anthropic/claude-opus-5-5", max_tokens: 99, messages };
  const own = await world().post("/chat/v1/messages", claude);
  assert.equal(own.status, 200, await own.text());
  assert.deepEqual(JSON.parse(world().last().body).messages, messages);
  world().play((exchange) => exchange.answer(200, responsesAnswer));
  const other = await world().post("/chat/v1/messages", { ...claude, model: "openai/gpt-5-mini" });
  assert.equal(other.status, 200, await other.text());
  const sent = JSON.parse(world().last().body);
  assert.deepEqual([sent.input.length, sent.reasoning.effort], [1, "low"]);
  world().play();
});

Deno.test("after a turn of another vendor Anthropic gets the conversation without its unsigned thinking", async () => {
  const reasoned = {
    ...responsesAnswer,
    output: [
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] },
      ...responsesAnswer.output,
    ],
  };
  const thinking = { type: "enabled", budget_tokens: 1024 };
  const asked = { max_tokens: 3000, thinking };
  world().play((exchange) => exchange.answer(200, reasoned));
  const first = await world().post("/chat/v1/messages", {
    ...{ model: "openai/gpt-5-mini", ...asked, messages: hello },
  });
  const { content } = await first.json();
  assert.deepEqual(content[0], { type: "thinking", thinking: "Hm.", signature: "" });
  world().play();
  const messages = [...hello, { role: "assistant", content }, ...hello];
  const claude = { model: "anthropic/claude-haiku-4-5", ...asked, messages };
  const second = await world().post("/chat/v1/messages", claude);
  assert.equal(second.status, 200, await second.text());
  const sent = JSON.parse(world().last().body);
  assert.deepEqual(sent.messages[1].content, [{ type: "text", text: "Fine." }]);
  assert.deepEqual(sent.thinking, thinking);
  const strict = { "X-Translation-Mode": "strict" };
  await (await world().post("/chat/v1/messages", claude, strict)).text();
  assert.deepEqual(JSON.parse(world().last().body).messages, messages);
  // So do its models behind the aggregator, whose other models take the thinking.
  const sentTo = async (model: string) => {
    const answer = await world().post("/chat/v1/messages", { ...claude, model });
    assert.equal(answer.status, 200, await answer.text());
    return JSON.parse(world().last().body).messages;
  };
  assert.deepEqual(await sentTo("openrouter/anthropic/claude-sonnet-5-5"), sent.messages);
  assert.deepEqual(await sentTo("openrouter/~anthropic/claude-sonnet-latest"), sent.messages);
  assert.deepEqual(await sentTo("openrouter/deepseek/deepseek-v4-flash"), messages);
});

Deno.test("a plain chat client may change what came before thinking that is kept for it", async () => {
  const thinking = { type: "thinking", thinking: "Hm.", signature: "of-this-prefix" };
  const use = { type: "tool_use", id: "toolu_1", name: "look", input: {} };
  const model = "anthropic/claude-opus-5-5";
  const tools = [{ type: "function", function: { name: "look" } }];
  const system = { role: "system", content: "It is Monday." };
  const ask = (messages: unknown) =>
    world().post("/chat/v1/chat/completions", { model, messages, tools });
  const called = { ...messagesAnswer, content: [thinking, use], stop_reason: "tool_use" };
  world().play((exchange) => exchange.answer(200, called));
  const first = await ask([system, ...hello]);
  const { choices: [{ message }] } = await first.json();
  const rest = [...hello, message, { role: "tool", tool_call_id: "toolu_1", content: "Rain." }];
  // Anthropic's words, of a model that checks what precedes its thinking.
  const refusal = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is " +
    "bound to a different conversation. Remove the block, or set " +
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".';
  const bodies: string[] = [];
  world().play((exchange) => {
    const { body } = exchange.request;
    bodies.push(body);
    if (body.includes("Monday") || !body.includes("of-this-prefix")) return answered(exchange);
    const error = { type: "invalid_request_error", message: refusal };
    return exchange.answer(400, { type: "error", error });
  });
  const changed = [{ ...system, content: "It is Tuesday." }, ...rest];
  const second = await ask(changed);
  assert.equal(second.status, 200, await second.text());
  assert.equal(bodies.length, 2);
  const [before, after] = bodies.map((body) => JSON.parse(body));
  assert.deepEqual(before.messages[1].content, [thinking, use]);
  const messages = before.messages.with(1, { ...before.messages[1], content: [use] });
  assert.deepEqual(after, { ...before, messages });
  // It is this conversation's: the next one's thinking is sent.
  const third = await ask([system, ...rest]);
  assert.equal(third.status, 200, await third.text());
  assert.deepEqual(JSON.parse(bodies[2]!).messages[1].content, [thinking, use]);
  world().play();
});

Deno.test("after a search of another vendor Anthropic gets and counts the conversation without it", async () => {
  const [message] = responsesAnswer.output;
  const source = { type: "url_citation", url: "https://a.example", title: "A" };
  const annotations = [{ ...source, start_index: 0, end_index: 5 }];
  const text = { type: "output_text", text: "Fine.", annotations };
  const sources = [{ type: "url", url: "https://a.example" }];
  const action = { type: "search", query: "a", sources };
  const output = [
    { type: "web_search_call", id: "ws_1", status: "completed", action },
    { ...message, content: [text] },
  ];
  world().play((exchange) => exchange.answer(200, { ...responsesAnswer, output }));
  const asked = { max_tokens: 300, tools: [{ type: "web_search_20250305", name: "web_search" }] };
  const first = await world().post("/chat/v1/messages", {
    ...{ model: "openai/gpt-5-mini", ...asked, messages: hello },
  });
  const { content } = await first.json();
  assert.deepEqual(content.map(({ type }: { type: string }) => type), [
    "server_tool_use",
    "web_search_tool_result",
    "text",
  ]);
  assert.ok(content[2].citations.length > 0);
  const messages = [...hello, { role: "assistant", content }, ...hello];
  const claude = { model: "anthropic/claude-haiku-4-5", messages };
  world().play();
  const second = await world().post("/chat/v1/messages", { ...claude, ...asked });
  assert.equal(second.status, 200, await second.text());
  const left = [{ type: "text", text: "Fine." }];
  assert.deepEqual(JSON.parse(world().last().body).messages[1].content, left);
  world().play((exchange) => exchange.answer(200, { input_tokens: 9 }));
  const count = await world().post("/chat/v1/messages/count_tokens", claude);
  assert.deepEqual(await count.json(), { input_tokens: 9 });
  assert.deepEqual(JSON.parse(world().last().body).messages[1].content, left);
  world().play();
});

Deno.test("after another vendor's call Gemini 3 gets the placeholder of a signature, whole and streamed", async () => {
  const content = [{ type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } }];
  world().play((exchange) =>
    exchange.answer(200, { ...messagesAnswer, content, stop_reason: "tool_use" })
  );
  const hi = { role: "user", parts: [{ text: "Hi" }] };
  const tools = [{ functionDeclarations: [{ name: "f", parametersJsonSchema: {} }] }];
  const path = (model: string, method: string) => `/chat/v1/models/${model}:${method}`;
  const first = await world().post(path("anthropic/claude-haiku-4-5", "generateContent"), {
    ...{ contents: [hi], tools },
  });
  const { candidates: [{ content: called }] } = await first.json();
  const [call] = called.parts;
  assert.ok(call.functionCall);
  world().play();
  const response = { functionResponse: { name: "f", response: { x: 1 } } };
  const contents = [hi, called, { role: "user", parts: [response] }];
  for (const method of ["generateContent", "streamGenerateContent?alt=sse"]) {
    const model = "google/gemini-3.1-pro-preview";
    await (await world().post(path(model, method), { contents, tools })).text();
    const thoughtSignature = "skip_thought_signature_validator";
    const marked = { ...called, parts: [{ ...call, thoughtSignature }] };
    assert.deepEqual(JSON.parse(world().last().body).contents, [hi, marked, contents[2]]);
  }
});

Deno.test("a long conversation reaches the other endpoint, too, where sealed reasoning makes it heavy for a fallback", async () => {
  const reasoning = {
    ...{ type: "reasoning", id: "rs_1", summary: [] },
    encrypted_content: "E".repeat(600_000),
  };
  const output = [reasoning, ...responsesAnswer.output];
  world().play((exchange) => {
    const { path } = exchange.request;
    if (!path.endsWith("/responses")) return answered(exchange);
    if (!path.startsWith("/a/")) return exchange.answer(200, { ...responsesAnswer, output });
    return exchange.answer(404, { error: { message: "Not found", code: 404 } });
  });
  const { dataDir } = world();
  const set = ["vendor-key", "set", "--vendor", "vendor-a"];
  await callControl(dataDir, set, "hf_ofTheAccount1");
  const fallback = "vendor-b/gpt-5-mini";
  const ask = async (body: object, headers?: Record<string, string>) =>
    await (await world().post("/chat/v1/responses", body, headers)).json();
  const first = await ask({ model: fallback, input: "w ".repeat(300_000) });
  const model = "vendor-a/openai/gpt-oss-120b";
  const next = { model, input: "Go on.", previous_response_id: first.id };
  const second = await ask(next, { "x-fallback-models": fallback });
  assert.equal(second.status, "completed", JSON.stringify(second).slice(0, 300));
  const { path, body } = world().last();
  assert.deepEqual([path, JSON.parse(body).messages.length], ["/a/chat/completions", 3]);
  await world().admin("vendor-key", "remove", "--vendor", "vendor-a");
  world().play();
});

Deno.test("a stream with more log-probabilities than its record holds is stored and continued, but not cached", async () => {
  const text = "a".repeat(800);
  const other = { token: "alternative", logprob: -2, bytes: null };
  const entry = { token: "a", logprob: -1, bytes: null, top_logprobs: Array(20).fill(other) };
  const choices = [{
    index: 0,
    delta: { content: text },
    logprobs: { content: Array(800).fill(entry) },
  }];
  world().play((exchange) => exchange.stream([event({ choices }), ...streamEvents.slice(3)]));
  const path = "/chat/v1/responses";
  const body = { model: "acme/acme-1", stream: true, top_logprobs: 20 };
  const ask = () => world().post(path, { ...body, input: "Hi" }, { "x-cache-ttl": "60" });
  const answer = await ask();
  const id = /"id":"(resp_[^"]+)"/.exec(await answer.text())![1]!;
  const stored = await (await world().fetch(`${path}/${id}`)).json();
  assert.equal(stored.output?.[0].content[0].text, text, stored.error?.message);
  const row = await world().row(answer.headers.get("x-transaction-id"));
  assert.deepEqual([row.status, row.payload_truncated], ["completed", true]);
  await (await world().post(path, { ...body, input: "Go on.", previous_response_id: id })).text();
  assert.equal(JSON.parse(world().last().body).messages[1]?.content, text);
  const again = await ask();
  assert.equal(again.headers.get("x-cache"), "MISS");
  await again.text();
  world().play();
});
