/** The addresses that tools assume: `/v1`, single models, `Idempotency-Key`; by vendors' own clients. */
import assert from "@std/assert";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { GoogleGenAI as GoogleGenAI1 } from "@google/genai-1";
import OpenAI from "openai";
import { shared, startSimulatedService } from "../support/service.ts";

const service = shared(() => startSimulatedService());
const openai = (base = "/v1") =>
  new OpenAI({ baseURL: service().baseUrl + base, apiKey: service().key, maxRetries: 0 });
const say = (model: string) => ({ model, messages: [{ role: "user" as const, content: "Hi" }] });

Deno.test("/v1 is /chat/v1: openai's client, whole, streamed, responses and embeddings", async () => {
  const whole = await openai().chat.completions.create(say("anthropic/claude-sonnet-4-6"));
  assert.equal(whole.choices[0]?.finish_reason, "stop");
  let text = "";
  const stream = await openai().chat.completions.create({ ...say("gpt-5-mini"), stream: true });
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  assert.notEqual(text, "");
  const response = await openai().responses.create({ model: "gpt-5-mini", input: "Hi" });
  const again = await openai("/chat/v1").responses.retrieve(response.id);
  assert.equal(again.id, response.id, "stored under one path, read under the other");
  assert.equal((await openai().responses.inputItems.list(response.id)).data.length, 1);
  const { input_tokens } = await openai().responses.inputTokens.count({
    ...{ model: "gpt-5-mini", input: "Hi" },
  });
  assert.equal(input_tokens, response.usage?.input_tokens);
  const { data } = await openai().embeddings.create({
    ...{ model: "openai/text-embedding-3-small", input: "Hi" },
  });
  assert.ok(data[0]!.embedding.length > 0);
  const rows = await service().rows();
  assert.ok(rows.every(({ endpoint }) => String(endpoint).startsWith("/chat/v1/")), "one name");
});

Deno.test("/v1 is /chat/v1 for the clients of Anthropic and Google, too", async () => {
  const { baseUrl, key } = service();
  const anthropic = new Anthropic({ baseURL: baseUrl, apiKey: key, maxRetries: 0 });
  const body = { ...say("google/gemini-2.5-flash"), max_tokens: 100 };
  assert.equal((await anthropic.messages.create(body)).type, "message");
  assert.ok(
    (await anthropic.messages.countTokens(say("anthropic/claude-sonnet-4-6"))).input_tokens,
  );
  const google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl } });
  const answer = await google.models.generateContent({
    model: "openai/gpt-5-mini",
    contents: "Hi",
  });
  assert.ok(answer.text);
  const chunks = await google.models.generateContentStream({ model: "gpt-5-mini", contents: "Hi" });
  let count = 0;
  for await (const _ of chunks) count++;
  assert.ok(count > 0);
});

Deno.test("a temperature that no vendor accepts is the caller's error, whatever the vendor", async () => {
  for (
    const model of ["openai/gpt-4.1", "anthropic/claude-sonnet-4-6", "google/gemini-2.5-flash"]
  ) {
    for (const temperature of [9, -1]) {
      const answer = await service().post("/v1/chat/completions", { ...say(model), temperature });
      const { error } = await answer.json();
      assert.deepEqual([answer.status, error.param], [400, "temperature"], error.message);
    }
    const warm = await service().post("/v1/chat/completions", { ...say(model), temperature: 2 });
    assert.equal(warm.status, 200, await warm.text());
  }
});

Deno.test("an error below /v1 has its dialect's form", async () => {
  const answer = await service().post("/v1/messages", { model: "nobody/x" });
  const { type, error } = await answer.json();
  assert.deepEqual([answer.status, type, error.type], [400, "error", "invalid_request_error"]);
  const unknown = await service().post("/v1/nothing", {});
  assert.equal((await unknown.json()).error.code, "endpoint_not_found");
});

Deno.test("openai's client reads one model of every vendor, on both paths and the family's", async () => {
  const { data } = await openai().models.list();
  const byOwner = Map.groupBy(data, ({ owned_by }) => owned_by);
  assert.equal(byOwner.size, 7);
  for (const [owner, models] of byOwner) {
    const { id } = models[0]!;
    assert.deepEqual(await openai().models.retrieve(id), models[0]);
    assert.deepEqual(await openai("/chat/v1").models.retrieve(id), models[0]);
    const own = await openai(`/${owner}/v1`).models.retrieve(id.slice(owner.length + 1));
    assert.deepEqual([own.id, own.owned_by], [id.slice(owner.length + 1), owner]);
  }
  assert.equal((await openai().models.retrieve("gpt-5-mini")).id, "vendor-b/gpt-5-mini");
});

Deno.test("Anthropic's and Google's clients read one model", async () => {
  const { baseUrl, key } = service();
  const anthropic = new Anthropic({ baseURL: `${baseUrl}/anthropic`, apiKey: key });
  const claude = await anthropic.models.retrieve("claude-sonnet-4-6");
  assert.deepEqual([claude.id, claude.type], ["claude-sonnet-4-6", "model"]);
  assert.match(claude.created_at, /^\d{4}-/);
  const google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${baseUrl}/google` } });
  const gemini = await google.models.get({ model: "gemini-2.5-flash" });
  assert.equal(gemini.name, "models/gemini-2.5-flash");
  assert.ok(gemini.inputTokenLimit! > 1000);
});

Deno.test("Anthropic's client lists and reads models of every vendor, on both paths", async () => {
  const { baseUrl, key } = service();
  const { data } = await openai().models.list();
  for (const path of ["", "/chat"]) {
    const { models } = new Anthropic({ baseURL: baseUrl + path, apiKey: key, maxRetries: 0 });
    const listed = await Array.fromAsync(models.list());
    assert.deepEqual(listed.map(({ id }) => id), data.map(({ id }) => id));
    for (const one of listed) {
      assert.deepEqual([one.type, typeof one.display_name], ["model", "string"], one.id);
      assert.match(one.created_at, /^\d{4}-/);
    }
    const gpt = await models.retrieve("openai/gpt-5-mini");
    assert.deepEqual(gpt, listed.find(({ id }) => id === "vendor-b/gpt-5-mini"));
    const claude = await models.retrieve("anthropic/claude-opus-5-5");
    assert.equal(claude.display_name, "Claude Opus 5.5");
    assert.ok(claude.max_tokens! > 1000);
  }
});

Deno.test("Anthropic's client reads the list in pages, forwards and backwards, where it asks so", async () => {
  const { baseUrl, key } = service();
  for (const path of ["/chat", "/anthropic"]) {
    const { models } = new Anthropic({ baseURL: baseUrl + path, apiKey: key, maxRetries: 0 });
    const { data: all } = await models.list();
    const ids = all.map(({ id }) => id);
    const first = await models.list({ limit: 3 });
    assert.deepEqual([first.data, first.has_more], [all.slice(0, 3), true]);
    assert.deepEqual(await idsOf(models.list({ limit: 3 })), ids);
    const middle = ids[5]!;
    assert.deepEqual(await idsOf(models.list({ limit: 2, after_id: middle })), ids.slice(6));
    const back = await models.list({ limit: 2, before_id: middle });
    assert.deepEqual(back.data.map(({ id }) => id), ids.slice(3, 5));
    const before = await idsOf(models.list({ limit: 2, before_id: middle }));
    assert.deepEqual(before.toSorted(), ids.slice(0, 5).toSorted());
    await assert.rejects(models.list({ limit: 0 }), /limit/);
    await assert.rejects(models.list({ after_id: "no-such" }), /after_id: .*'no-such'/);
  }
  const others = await service().fetch("/v1/models?limit=1");
  assert.ok((await others.json()).data.length > 1, "other clients get all models at once");
});

Deno.test("Anthropic's client reads code and request id of the list's errors", async () => {
  const { baseUrl: baseURL, key } = service();
  const { models } = new Anthropic({ baseURL, apiKey: key, maxRetries: 0 });
  assert.match(String((await models.retrieve("gpt-5-mini"))._request_id), /^[0-9a-f-]{36}$/);
  const { models: refused } = new Anthropic({ baseURL, apiKey: "dmt_none", maxRetries: 0 });
  const failures = [
    [async () => await models.retrieve("claude-nope"), "model_not_found"],
    [async () => await models.list({ limit: 0 }), "invalid_value"],
    [async () => await refused.list(), "invalid_api_key"],
  ] as [() => Promise<unknown>, string][];
  for (const [list, code] of failures) {
    const thrown = await list().then(() => undefined, (thrown: unknown) => thrown);
    if (!(thrown instanceof Anthropic.APIError)) throw new assert.AssertionError({ message: code });
    assert.equal(thrown.errorCode, code);
    assert.match(String(thrown.requestID), /^[0-9a-f-]{36}$/);
  }
});

async function idsOf(listed: AsyncIterable<{ id: string }>): Promise<string[]> {
  return (await Array.fromAsync(listed)).map(({ id }) => id);
}

Deno.test("Google's client lists and reads models of every vendor, on both paths", async () => {
  const { baseUrl, key } = service();
  const { data } = await openai().models.list();
  for (const path of ["", "/chat"]) {
    for (const apiVersion of ["v1", "v1beta"]) {
      const httpOptions = { baseUrl: baseUrl + path, apiVersion };
      await readsModels(new GoogleGenAI({ apiKey: key, httpOptions }), data.map(({ id }) => id));
    }
  }
  const oldest = new GoogleGenAI1({ apiKey: key, httpOptions: { baseUrl: `${baseUrl}/chat` } });
  assert.equal((await Array.fromAsync(await oldest.models.list())).length, data.length);
  const bare = await service().fetch("/v1beta/models");
  assert.equal((await bare.json()).models[0].name, `models/${data[0]!.id}`, "by another header");
});

async function readsModels({ models }: GoogleGenAI, ids: readonly string[]): Promise<void> {
  const listed = await Array.fromAsync(await models.list());
  assert.deepEqual(listed.map(({ name }) => name), ids.map((id) => `models/${id}`));
  for (const model of ["openai/gpt-5-mini", "models/vendor-b/gpt-5-mini", "gpt-5-mini"]) {
    const { name, displayName } = await models.get({ model });
    assert.deepEqual([name, typeof displayName], ["models/vendor-b/gpt-5-mini", "string"]);
  }
  const gemini = await models.get({ model: "google/gemini-2.5-flash" });
  assert.equal(gemini.name, "models/vendor-d/gemini-2.5-flash");
  assert.ok(gemini.inputTokenLimit! > 1000, "the vendor's own fields");
  const answer = await models.generateContent({ model: gemini.name!, contents: "Hi" });
  assert.ok(answer.text, "a listed name can be called");
  await assert.rejects(models.get({ model: "openai/gpt-5-mni" }), /Did you mean 'gpt-5-mini'/);
}

Deno.test("a model that isn't there is 404 with the nearest name, a key's scope counts", async () => {
  for (
    const [path, near] of [
      ["/v1/models/openai/gpt-5-mni", "gpt-5-mini"],
      ["/v1/models/gpt-5-mni", "gpt-5-mini"],
      ["/anthropic/v1/models/claude-sonnet-4.6", "claude-sonnet-4-6"],
    ] as const
  ) {
    const answer = await service().fetch(path);
    const { error } = await answer.json();
    assert.equal(answer.status, 404, path);
    assert.match(error.message, new RegExp(`Did you mean '${near}'`), path);
  }
  const { key } = await service().createKey("--scope", "anthropic");
  const headers = { authorization: `Bearer ${key}` };
  const status = async (path: string) => {
    const answer = await service().fetch(path, { headers });
    await answer.body?.cancel();
    return answer.status;
  };
  assert.equal(await status("/anthropic/v1/models/claude-sonnet-4-6"), 200);
  assert.equal(await status("/v1/models/gpt-5-mini"), 403);
});

Deno.test("Idempotency-Key repeats a call without a second charge, on either path", async () => {
  const { simulators } = service();
  const before = simulators.requests("vendor-b").length;
  const headers = { "idempotency-key": "order-77" };
  const first = await service().post("/v1/chat/completions", say("gpt-5-mini"), headers);
  const text = await first.text();
  assert.equal(first.headers.get("x-request-id"), "order-77");
  const second = await service().post("/chat/v1/chat/completions", say("gpt-5-mini"), headers);
  assert.equal(await second.text(), text);
  assert.equal(second.headers.get("x-idempotent-replay"), "true");
  assert.equal(simulators.requests("vendor-b").length, before + 1);
  const other = await service().post("/v1/chat/completions", say("gpt-4.1"), headers);
  assert.equal((await other.json()).error.code, "idempotency_conflict");
  // X-Request-ID goes before it.
  const own = await service().post("/v1/chat/completions", say("gpt-5-mini"), {
    ...headers,
    "x-request-id": "order-78",
  });
  await own.body?.cancel();
  assert.equal(own.headers.get("x-idempotent-replay"), null);
  assert.equal(own.headers.get("x-request-id"), "order-78");
});
