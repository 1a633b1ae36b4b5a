import assert from "@std/assert";
import OpenAI from "openai";
import { shared, startSimulatedService } from "../support/service.ts";
import { chatFamilies, type ChatWay, openai, waysOf } from "../support/service_openai.ts";

const service = shared(() => startSimulatedService());

const prompt = "Tell me about rivers.";
const messages = [{ role: "user" as const, content: prompt }];

/** Models with a field for JSON, and models that are asked for it in words. */
const models = [
  ...["openai/gpt-5-mini", "anthropic/claude-sonnet-4-6", "google/gemini-2.5-flash"],
  ...["xai/grok-4.3", "openrouter/openai/gpt-5-mini"],
];

Deno.test("openai library: JSON that the request demands, from every vendor's model", async () => {
  const parameters = { type: "object", properties: {} };
  const tools = [{ type: "function" as const, function: { name: "look", parameters } }];
  for (const model of models) {
    for (const more of [{}, { tools }]) {
      const answer = await openai(service(), "/chat/v1").chat.completions.create({
        ...{ model, messages: [{ role: "user", content: "Rivers as JSON, please." }] },
        ...{ response_format: { type: "json_object" }, ...more },
      });
      const { content } = answer.choices[0]!.message;
      assert.equal(typeof JSON.parse(content ?? ""), "object", `${model}: ${content}`);
    }
  }
});

for (const family of chatFamilies) {
  for (const way of waysOf(family)) {
    Deno.test(`openai library: ${way.path} with '${way.model}', whole and streamed`, async () => {
      await callWhole(way);
      await callStreamed(way, true);
      await callStreamed(way, false);
    });
  }
}

async function callWhole(way: ChatWay): Promise<void> {
  const { data, response } = await openai(service(), way.path).chat.completions
    .create({ model: way.model, messages }).withResponse();
  assert.equal(data.object, "chat.completion");
  assert.equal(data.model, way.family.model);
  const choice = data.choices[0]!;
  assert.equal(choice.finish_reason, "stop");
  assert.ok(choice.message.content?.includes("rivers"), "the vendor's own words");
  await checkRow(way, response, data.usage, false, choice.message.content);
}

async function callStreamed(way: ChatWay, include: boolean): Promise<void> {
  const { data: stream, response } = await openai(service(), way.path).chat.completions
    .create({
      model: way.model,
      messages,
      stream: true,
      ...(include ? { stream_options: { include_usage: true } } : {}),
    }).withResponse();
  let text = "";
  let finish: string | undefined;
  const usages: unknown[] = [];
  for await (const chunk of stream) {
    assert.equal(chunk.object, "chat.completion.chunk");
    text += chunk.choices[0]?.delta.content ?? "";
    finish ??= chunk.choices[0]?.finish_reason ?? undefined;
    if (chunk.usage) usages.push(chunk.usage);
    if (!include) assert.notEqual(chunk.choices.length, 0, "no chunk that was not asked for");
  }
  assert.equal(finish, "stop");
  assert.ok(text.includes("rivers"));
  // Who asked sees the usage, once; who didn't, doesn't.
  assert.equal(usages.length, include ? 1 : 0);
  await checkRow(way, response, usages[0], true, text);
}

/** The row has what the caller was sent, or else what the vendor reported. */
async function checkRow(
  way: ChatWay,
  response: Response,
  usage: unknown,
  stream: boolean,
  text: string | null,
): Promise<void> {
  const row = await service().row(response.headers.get("x-transaction-id"));
  const family = way.family;
  const { vendor, model, requested_model, status, http_status, finish_reason, mode } = row;
  assert.deepEqual(
    {
      vendor,
      model,
      requested_model,
      status,
      http_status,
      finish_reason,
      mode,
      stream: row.stream,
    },
    {
      vendor: family.label,
      model: family.model,
      requested_model: way.model,
      status: "completed",
      http_status: 200,
      finish_reason: "stop",
      mode: "managed",
      stream,
    },
  );
  // The aggregator says what it charged, the others what they counted.
  assert.equal(row.billing_basis, family.label === "vendor-f" ? "vendor_cost" : "reported");
  if (usage !== undefined) assert.deepEqual(row.usage_raw, usage);
  const raw = row.usage_raw as { prompt_tokens: number; total_tokens: number };
  assert.ok(raw.prompt_tokens > 0 && raw.total_tokens > raw.prompt_tokens);
  assert.deepEqual([row.input_tokens, row.total_tokens], [raw.prompt_tokens, raw.total_tokens]);
  assert.match(String(row.cost_usd), /^0\.\d*[1-9]\d*$/);
  assert.equal(row.charged_usd, row.cost_usd);
  assert.ok(Number(row.time_to_first_token_ms) <= Number(row.latency_ms));
  const kept = row.response as { choices: { message: { content: string } }[] };
  assert.equal(kept.choices[0]!.message.content, text);
}

Deno.test("openai library: models.list reads the unified list and a family's", async () => {
  const unified = await openai(service()).models.list();
  assert.ok(unified.data.some((model) => model.id === "vendor-g/grok-4.3"));
  const own = await openai(service(), "/xai/v1").models.list();
  assert.ok(own.data.some((model) => model.id === "grok-4.3" && model.owned_by === "vendor-g"));
});

Deno.test("openai library: the dual-key form calls with the caller's own vendor key", async () => {
  const { simulators, key, row } = service();
  const vendorKey = simulators.vendors["vendor-b"].apiKey;
  const client = openai({ ...service(), key: `${key};${vendorKey}` }, "/openai/v1");
  const { response } = await client.chat.completions.create({ model: "gpt-4.1", messages })
    .withResponse();
  const stored = await row(response.headers.get("x-transaction-id"));
  assert.equal(stored.mode, "dual_key");
  assert.notEqual(Number(stored.cost_usd), 0);
  assert.equal(stored.charged_usd, "0.000000000");
  assert.equal(
    simulators.requests("vendor-b").at(-1)!.headers.authorization,
    `Bearer ${vendorKey}`,
  );
});

Deno.test("openai library: the service key in X-API-Key, beside a key that is none", async () => {
  const { baseUrl, key } = service();
  const client = new OpenAI({
    baseURL: `${baseUrl}/chat/v1`,
    apiKey: "sk-not-for-us",
    defaultHeaders: { "X-API-Key": key },
  });
  const answer = await client.chat.completions.create({ model: "xai/grok-4.3", messages });
  assert.equal(answer.choices[0]!.finish_reason, "stop");
});

Deno.test("openai library: several answers at once (n) are separate and counted together", async () => {
  const client = openai(service());
  const { data, response } = await client.chat.completions
    .create({ model: "vendor-b/gpt-4.1", messages, n: 3 }).withResponse();
  assert.deepEqual(data.choices.map((choice) => choice.index), [0, 1, 2]);
  const row = await service().row(response.headers.get("x-transaction-id"));
  assert.equal(row.output_tokens, data.usage?.completion_tokens);
  const streamed = await client.chat.completions
    .create({ model: "vendor-b/gpt-4.1", messages, n: 2, stream: true }).withResponse();
  const texts = ["", ""];
  for await (const chunk of streamed.data) {
    for (const choice of chunk.choices) texts[choice.index] += choice.delta.content ?? "";
  }
  const kept = (await service().row(streamed.response.headers.get("x-transaction-id")))
    .response as { choices: { message: { content: string } }[] };
  assert.deepEqual(kept.choices.map((choice) => choice.message.content), texts);
});

for (const [status, requests] of [[401, 1], [500, 3]] as const) {
  Deno.test(`openai library: the vendor's ${status} is asked for ${requests} times`, async () => {
    let count = 0;
    const client = new OpenAI({
      baseURL: `${service().baseUrl}/chat/v1`,
      apiKey: service().key,
      fetch: (url, init) => {
        count++;
        return fetch(url, init);
      },
    });
    const prompt = { role: "user" as const, content: `[error:${status}]` };
    const call = client.chat.completions.create({ model: "openai/gpt-5-mini", messages: [prompt] });
    await assert.rejects(async () => await call, { status: 502 });
    assert.equal(count, requests);
  });
}
