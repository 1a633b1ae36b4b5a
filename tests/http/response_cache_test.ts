import assert from "@std/assert";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { callControl } from "../../src/admin/control.ts";
import {
  assertHit,
  type CachedReply,
  cachedReply,
  hitMoney,
  moneyOf,
} from "../support/cached_calls.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { openai } from "../support/service_openai.ts";

const service = shared(() => startSimulatedService());
const ttl = { "x-cache-ttl": "3600" };
let made = 0;
/** A prompt that no other call has. */
const fresh = () => `Tell me of the number ${++made}.`;

interface Form {
  path: string;
  body: Record<string, unknown>;
}

/** A caller of each dialect, most of them at a vendor of another one. */
const callers: Readonly<Record<string, (text: string, stream: boolean) => Form>> = {
  "chat, passed through": (content, stream) => ({
    path: "/vendor-f/v1/chat/completions",
    body: { model: "meta-llama/llama-3", stream, messages: [{ role: "user", content }] },
  }),
  "chat, translated": (content, stream) => ({
    path: "/chat/v1/chat/completions",
    body: {
      ...{ model: "anthropic/claude-sonnet-4-6", stream, max_tokens: 100 },
      messages: [{ role: "user", content }],
    },
  }),
  "responses, passed through": (input, stream) => ({
    path: "/chat/v1/responses",
    body: { model: "openai/gpt-5-mini", stream, input },
  }),
  "responses, translated": (input, stream) => ({
    path: "/chat/v1/responses",
    body: { model: "google/gemini-2.5-flash", stream, input },
  }),
  "messages, passed through": (content, stream) => ({
    path: "/anthropic/v1/messages",
    body: {
      ...{ model: "claude-sonnet-4-6", stream, max_tokens: 100 },
      messages: [{ role: "user", content }],
    },
  }),
  "messages, translated": (content, stream) => ({
    path: "/chat/v1/messages",
    body: {
      ...{ model: "openai/gpt-5-mini", stream, max_tokens: 1000 },
      messages: [{ role: "user", content }],
    },
  }),
  "generate, passed through": (text, stream) => ({
    path: `/google/v1beta/models/gemini-2.5-flash:${
      stream ? "streamGenerateContent?alt=sse" : "generateContent"
    }`,
    body: { contents: [{ role: "user", parts: [{ text }] }] },
  }),
  "generate, translated": (text, stream) => ({
    path: `/chat/v1/models/anthropic/claude-sonnet-4-6:${
      stream ? "streamGenerateContent" : "generateContent"
    }`,
    body: { contents: [{ role: "user", parts: [{ text }] }] },
  }),
};

async function post(
  { path, body }: Form,
  headers: Record<string, string> = ttl,
): Promise<CachedReply> {
  return await cachedReply(await service().post(path, body, headers));
}

for (const [name, form] of Object.entries(callers)) {
  for (const stream of [false, true]) {
    Deno.test(`a hit is byte-equal and free: ${name}, ${stream ? "streamed" : "whole"}`, async () => {
      const call = form(fresh(), stream);
      const first = await post(call);
      assert.deepEqual([first.status, first.cache, first.age], [200, "MISS", null], first.text);
      const second = await post(call);
      assertHit(first, second);
      const [miss, hit] = [
        await service().row(first.transaction),
        await service().row(second.transaction),
      ];
      assert.equal(miss.cache, "miss");
      assert.notEqual(miss.total_tokens, null);
      assert.deepEqual(moneyOf(hit), hitMoney);
      const same = (column: string) => assert.deepEqual(hit[column], miss[column], column);
      for (const column of ["request", "response", "vendor", "model", "requested_model"]) {
        same(column);
      }
      for (const column of ["finish_reason", "stream", "translation_loss", "endpoint", "mode"]) {
        same(column);
      }
      assert.equal(hit.attempts, null);
    });
  }
}

Deno.test("without a TTL nothing is stored, returned or announced", async () => {
  const call = callers["chat, passed through"]!(fresh(), false);
  const plain = await post(call, {});
  assert.equal(plain.cache, null);
  assert.equal((await service().row(plain.transaction)).cache, null);
  assert.equal((await post(call)).cache, "MISS");
  assert.equal((await post(call, {})).cache, null);
});

/** Two requests of which the second finds the answer of the first, or does not. */
interface Pair {
  name: string;
  first: Record<string, unknown>;
  second: Record<string, unknown> | string;
  headers?: Record<string, string>;
  hits: boolean;
}

const user = (content: string) => ({ role: "user", content });
const pairs: readonly Pair[] = [
  {
    name: "another order of members, and numbers and strings spelled otherwise",
    first: { temperature: 1, messages: [user("Café?")], max_tokens: 100 },
    second:
      '{"max_tokens":1e2,"messages":[{"content":"Caf\\u00e9?","role":"user"}],"temperature":1.0,"model":"meta-llama/llama-3"}',
    hits: true,
  },
  {
    name: "tags",
    first: {
      messages: [{ role: "system", content: "/// APP one\n/// COHORT a\nBe brief." }, user("Who?")],
    },
    second: { messages: [{ role: "system", content: "/// APP two\nBe brief." }, user("Who?")] },
    hits: true,
  },
  {
    name: "end user and metadata",
    first: { messages: [user("Where?")], user: "ann", metadata: { a: "1" } },
    second: { messages: [user("Where?")], user: "bob", safety_identifier: "b" },
    headers: { "x-user-id": "eve", "x-session-id": "other", "user-agent": "other/1" },
    hits: true,
  },
  {
    name: "another prompt",
    first: { messages: [user("A")] },
    second: { messages: [user("B")] },
    hits: false,
  },
  {
    name: "another setting",
    first: { messages: [user("C")] },
    second: { messages: [user("C")], temperature: 0 },
    hits: false,
  },
  {
    name: "another model",
    first: { messages: [user("D")] },
    second: { messages: [user("D")], model: "meta-llama/llama-3:free" },
    hits: false,
  },
  {
    name: "streamed after whole",
    first: { messages: [user("E")] },
    second: { messages: [user("E")], stream: true },
    hits: false,
  },
  {
    name: "a number that a double does not tell apart",
    first: { messages: [user("F")], seed: 1 },
    second:
      `{"messages":[{"role":"user","content":"F"}],"seed":1.00000000000000001,"model":"meta-llama/llama-3"}`,
    hits: false,
  },
  {
    name: "an unknown field",
    first: { messages: [user("G")], x_unknown: [1, 2] },
    second: { messages: [user("G")], x_unknown: [2, 1] },
    hits: false,
  },
];

for (const { name, first, second, headers = {}, hits } of pairs) {
  Deno.test(`${name}: ${hits ? "a hit" : "a miss"}`, async () => {
    const path = "/vendor-f/v1/chat/completions";
    const model = "meta-llama/llama-3";
    const one = await post({ path, body: { model, ...first } });
    assert.deepEqual([one.status, one.cache], [200, "MISS"], one.text);
    const body = typeof second === "string" ? second : { model, ...second };
    const other = await cachedReply(await service().post(path, body, { ...ttl, ...headers }));
    assert.deepEqual([other.status, other.cache], [200, hits ? "HIT" : "MISS"], other.text);
  });
}

Deno.test("another path, form of stream or account: a miss", async () => {
  const text = fresh();
  const call = callers["generate, passed through"]!(text, true);
  assert.equal((await post(call)).cache, "MISS");
  assert.equal((await post(call)).cache, "HIT");
  const array = { ...call, path: call.path.replace("?alt=sse", "") };
  assert.equal((await post(array)).cache, "MISS");
  assert.equal((await post({ ...call, path: call.path.replace("v1beta", "v1") })).cache, "MISS");
  await service().admin("account", "create", "--name", "others");
  await service().admin("credits", "grant", "--usd", "1", "--account", "others");
  const { key } = await service().createKey("--account", "others");
  const theirs = { ...ttl, authorization: `Bearer ${key}` };
  assert.equal((await post(call, theirs)).cache, "MISS");
  assert.equal((await post(call, theirs)).cache, "HIT");
  // Another key of the same account.
  const ours = await service().createKey();
  assert.equal((await post(call, { ...ttl, authorization: `Bearer ${ours.key}` })).cache, "HIT");
});

Deno.test("a header that goes on to the vendor, and the account's own vendor key, count", async () => {
  const call = callers["messages, passed through"]!(fresh(), false);
  const beta = { ...ttl, "anthropic-beta": "context-1m-2025-08-07" };
  assert.equal((await post(call)).cache, "MISS");
  assert.equal((await post(call, beta)).cache, "MISS");
  assert.equal((await post(call, beta)).cache, "HIT");
  const { apiKey } = service().simulators.vendors["vendor-c"];
  const own = (key: string) => ({ ...ttl, authorization: `Bearer ${service().key};${key}` });
  assert.equal((await post(call, own(apiKey))).cache, "MISS");
  assert.equal((await post(call, own(apiKey))).cache, "HIT");
  assert.equal((await post(call, own("sk-wrong-0123456789"))).status, 401);
});

Deno.test("answers of responses calls repeat user and metadata, so these count there", async () => {
  const call = callers["responses, translated"]!(fresh(), false);
  const of = (name: string) => ({ ...call, body: { ...call.body, metadata: { name } } });
  assert.equal((await post(of("ann"))).cache, "MISS");
  assert.equal((await post(of("bob"))).cache, "MISS");
  assert.equal((await post(of("ann"))).cache, "HIT");
});

Deno.test("a call that continues a conversation is not cached", async () => {
  const first = await post(callers["responses, translated"]!(fresh(), false));
  const { id } = JSON.parse(first.text);
  const next = callers["responses, translated"]!("And then?", false);
  const call = { ...next, body: { ...next.body, previous_response_id: id } };
  for (let round = 0; round < 2; round++) {
    const answer = await post(call);
    assert.deepEqual([answer.status, answer.cache], [200, "MISS"], answer.text);
    assert.equal((await service().row(answer.transaction)).cache, "miss");
  }
});

Deno.test("a response out of the cache can be continued", async () => {
  const call = callers["responses, translated"]!(fresh(), false);
  const [first, again] = [await post(call), await post(call)];
  assertHit(first, again);
  const { id } = JSON.parse(again.text);
  const next = callers["responses, translated"]!("And then?", false);
  const answer = await post({ ...next, body: { ...next.body, previous_response_id: id } });
  assert.equal(answer.status, 200, answer.text);
});

Deno.test("a large request is compared as a whole", async () => {
  const turns = Array.from(
    { length: 9000 },
    (_, at) => ({
      role: at % 2 === 0 ? "user" : "assistant",
      content: `${at} ${"word ".repeat(20)}`,
    }),
  );
  const call = (last: string) => ({
    path: "/vendor-f/v1/chat/completions",
    body: { model: "meta-llama/llama-3", messages: [...turns, user(last)] },
  });
  const last = fresh();
  const first = await post(call(last));
  assert.deepEqual([first.status, first.cache], [200, "MISS"], first.text.slice(0, 500));
  assertHit(first, await post(call(last)));
  assert.equal((await post(call(`${last} `))).cache, "MISS");
});

Deno.test("a response that its caller deletes is in the cache no more", async () => {
  const call = callers["responses, translated"]!(fresh(), true);
  const first = await post(call);
  const [, id] = /"id":"(resp_[^"]+)"/.exec(first.text)!;
  assertHit(first, await post(call));
  const gone = await service().fetch(`/chat/v1/responses/${id}`, { method: "DELETE" });
  assert.equal(gone.status, 200, await gone.text());
  assert.equal((await post(call)).cache, "MISS");
});

Deno.test("a repeat of an X-Request-ID goes before the cache", async () => {
  const call = callers["chat, translated"]!(fresh(), false);
  const filled = await post(call);
  const named = { ...ttl, "x-request-id": `named-${made}` };
  const hit = await post(call, named);
  assertHit(filled, hit);
  const response = await service().post(call.path, call.body, named);
  assert.equal(response.headers.get("x-idempotent-replay"), "true");
  const replay = await cachedReply(response);
  assert.deepEqual([replay.transaction, replay.body], [hit.transaction, hit.body]);
  assert.equal((await service().rows({ request_id: named["x-request-id"] })).length, 1);
});

Deno.test("a wrong TTL is 400 and names the header, on every call", async () => {
  const calls = [
    ...Object.values(callers).map((form) => form("Hello.", false)),
    { path: "/chat/v1/embeddings", body: { model: "openai/text-embedding-3-small", input: "x" } },
  ];
  for (const call of calls) {
    const answer = await post(call, { "x-cache-ttl": "86401" });
    assert.equal(answer.status, 400, call.path);
    assert.match(answer.text, /X-Cache-TTL: expected a whole number of seconds from 1 to 86400/);
  }
  assert.equal((await service().rows({ cache: "hit", model: "none" })).length, 0);
});

Deno.test("a key's TTL is for all of its calls, and X-Cache-TTL: 0 leaves one out", async () => {
  const { key, id } = await service().createKey("--cache-ttl", "600");
  const bearer = { authorization: `Bearer ${key}` };
  const call = callers["chat, passed through"]!(fresh(), false);
  const caches = [];
  for (const header of [{}, {}, { "x-cache-ttl": "0" }, { "x-cache-ttl": "5" }]) {
    caches.push((await post(call, { ...bearer, ...header })).cache);
  }
  assert.deepEqual(caches, ["MISS", "HIT", null, "HIT"]);
  const listed = (await service().admin("key", "list")).json as Record<string, unknown>[];
  assert.equal(listed.find((one) => one.id === id)?.cache_ttl_seconds, 600);
  const wrong = await service().admin("key", "create", "--name", "n", "--cache-ttl", "0");
  assert.equal(wrong.exitCode, 2);
  assert.match(wrong.lines.join(), /--cache-ttl 0: expected a whole number of seconds/);
});

Deno.test("a key that may not call the model gets nothing of the cache", async () => {
  const call = callers["chat, passed through"]!(fresh(), false);
  assert.equal((await post(call)).cache, "MISS");
  const { key } = await service().createKey("--models", "openai/gpt-4.1");
  const answer = await post(call, { ...ttl, authorization: `Bearer ${key}` });
  assert.deepEqual([answer.status, answer.cache], [403, null]);
});

Deno.test("a hit takes a rate token and no credit, and is counted", async () => {
  await service().admin("account", "create", "--name", "poor");
  const { key } = await service().createKey("--account", "poor");
  const { key: rich } = await service().createKey();
  const bearer = (one: string) => ({ ...ttl, authorization: `Bearer ${one}` });
  const call = callers["chat, passed through"]!(fresh(), false);
  assert.equal((await post(call, bearer(key))).status, 402);
  await service().admin("credits", "grant", "--usd", "5", "--account", "poor");
  const filled = await post(call, bearer(key));
  assert.deepEqual([filled.status, filled.cache], [200, "MISS"]);
  const balance = () => service().admin("credits", "show", "--account", "poor");
  const before = (await balance()).json;
  const limited = await service().post(call.path, call.body, bearer(key));
  const left = Number(limited.headers.get("x-ratelimit-remaining"));
  assertHit(filled, await cachedReply(limited));
  const next = await service().post(call.path, call.body, bearer(key));
  assert.ok(Number(next.headers.get("x-ratelimit-remaining")) <= left);
  assertHit(filled, await cachedReply(next));
  assert.deepEqual((await balance()).json, before);
  assert.equal((await post(call, bearer(rich))).cache, "MISS", "another account");
  const metrics = await (await service().fetch("/metrics")).text();
  assert.match(metrics, /gateway_cache_hits_total\{vendor="vendor-f"\} [1-9]/);
});

Deno.test("a virtual model's answers go when it is changed, and name who answered", async () => {
  const set = async (definition: unknown) => {
    const argv = ["model", "set", "cached-name"];
    const done = await callControl(service().dataDir, argv, JSON.stringify(definition));
    assert.equal(done?.exitCode, 0, done?.lines.join());
  };
  const path = "/chat/v1/chat/completions";
  const body = { model: "cached-name", messages: [user(fresh())] };
  const ask = () => service().post(path, body, ttl);
  const seen = async () => {
    const response = await ask();
    const model = response.headers.get("x-model");
    return [(await cachedReply(response)).cache, model];
  };
  await set({ targets: ["openrouter/meta-llama/llama-3"] });
  assert.deepEqual(await seen(), ["MISS", "vendor-f/meta-llama/llama-3"]);
  assert.deepEqual(await seen(), ["HIT", "vendor-f/meta-llama/llama-3"]);
  await set({ targets: ["openai/gpt-4.1"] });
  assert.deepEqual(await seen(), ["MISS", "vendor-b/gpt-4.1"]);
  assert.deepEqual(await seen(), ["HIT", "vendor-b/gpt-4.1"]);
  // Another share of the calls is another experiment.
  await set({ targets: [{ model: "openai/gpt-4.1", weight: 2 }] });
  assert.deepEqual(await seen(), ["MISS", "vendor-b/gpt-4.1"]);
});

Deno.test("a call gets no answer out of the cache that left out more than its translation mode allows", async () => {
  const path = "/chat/v1/chat/completions";
  const body = {
    ...{ model: "anthropic/claude-sonnet-4-6", max_tokens: 100, n: 2 },
    ...{ messages: [user(fresh())], models: ["openai/gpt-4.1"] },
  };
  const lenient = await service().createKey("--translation-mode", "lenient");
  const modes = {
    lenient: { authorization: `Bearer ${lenient.key}` },
    default: {},
    strict: { "x-translation-mode": "strict" },
  };
  for (const [mode, headers] of Object.entries(modes)) {
    for (const cache of ["MISS", "HIT"]) {
      const answer = await service().post(path, body, { ...ttl, ...headers });
      const { choices } = await answer.json();
      const of = ["x-cache", "x-translation-loss"].map((name) => answer.headers.get(name));
      const expected = mode === "lenient" ? [cache, "n", 1] : [cache, null, 2];
      assert.deepEqual([...of, choices.length], expected, mode);
    }
  }
});

Deno.test("openai: a hit is the same answer, whole, streamed and by responses", async () => {
  const client = openai(service());
  const prompt = fresh();
  const chat = {
    model: "anthropic/claude-sonnet-4-6",
    messages: [{ role: "user" as const, content: prompt }],
  };
  const whole = () => client.chat.completions.create(chat, { headers: ttl }).withResponse();
  await sameTwice(async () => {
    const { data, response } = await whole();
    return { data, response };
  });
  await sameTwice(async () => {
    const { data, response } = await client.chat.completions.create(
      { ...chat, stream: true, stream_options: { include_usage: true } },
      { headers: ttl },
    ).withResponse();
    return { data: await Array.fromAsync(data), response };
  });
  await sameTwice(async () => {
    const { data, response } = await client.responses.create(
      { model: "openai/gpt-5-mini", input: prompt, stream: true },
      { headers: ttl },
    ).withResponse();
    return { data: await Array.fromAsync(data), response };
  });
});

Deno.test("@anthropic-ai/sdk: a hit is the same answer, whole and streamed", async () => {
  const client = new Anthropic({ baseURL: `${service().baseUrl}/chat`, apiKey: service().key });
  const body = {
    ...{ model: "openai/gpt-5-mini", max_tokens: 1000 },
    messages: [{ role: "user" as const, content: fresh() }],
  };
  await sameTwice(async () => {
    const { data, response } = await client.messages.create(body, { headers: ttl }).withResponse();
    return { data, response };
  });
  await sameTwice(async () => {
    const { data, response } = await client.messages.create(
      { ...body, stream: true },
      { headers: ttl },
    ).withResponse();
    return { data: await Array.fromAsync(data), response };
  });
});

Deno.test("@google/genai: a hit is the same answer, whole and streamed", async () => {
  const { models } = new GoogleGenAI({
    apiKey: service().key,
    httpOptions: { baseUrl: `${service().baseUrl}/chat`, headers: ttl },
  });
  const asked = { model: "anthropic/claude-sonnet-4-6", contents: fresh() };
  for (const stream of [false, true]) {
    await sameTwice(async () => {
      const all = stream
        ? await Array.fromAsync(await models.generateContentStream(asked))
        : [await models.generateContent(asked)];
      const [headers] = all.map(({ sdkHttpResponse }) => sdkHttpResponse?.headers ?? {});
      const data = all.map(({ sdkHttpResponse: _, ...answer }) => answer);
      return { data, response: { headers: new Headers(headers) } };
    });
  }
});

/** Two calls, of which the second is answered out of the cache with what the first got. */
async function sameTwice(
  call: () => Promise<{ data: unknown; response: { headers: Headers } }>,
): Promise<void> {
  const [first, second] = [await call(), await call()];
  const caches = [first, second].map(({ response }) => response.headers.get("x-cache"));
  assert.deepEqual(caches, ["MISS", "HIT"]);
  const plain = (data: unknown): unknown => JSON.parse(JSON.stringify(data));
  assert.deepEqual(plain(second.data), plain(first.data));
}
