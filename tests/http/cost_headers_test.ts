/** A whole answer says what its call costs, exactly as its record does. */
import assert from "@std/assert";
import { sound } from "../../demo/simulator/samples/mod.ts";
import { settledHeaders } from "../../src/relay/reply.ts";
import { interactionRow } from "../support/interaction_row.ts";
import { type Row, shared, startSimulatedService } from "../support/service.ts";

const service = shared(() => startSimulatedService({ CORS_ORIGINS: "https://app.example" }));

const messages = [{ role: "user", content: "How are you?" }];
const contents = [{ role: "user", parts: [{ text: "How are you?" }] }];
const json = (value: unknown) => JSON.stringify(value);

/** Every dialect, at its own vendor and translated, and everything else that costs. */
const calls: readonly { name: string; path: string; body: () => string | FormData }[] = [
  ...["openai/gpt-4.1", "anthropic/claude-sonnet-4-6", "google/gemini-2.5-flash"].flatMap((
    model,
  ) => [
    {
      name: `chat to ${model}`,
      path: "/chat/v1/chat/completions",
      body: () => json({ model, messages }),
    },
    {
      name: `responses to ${model}`,
      path: "/chat/v1/responses",
      body: () => json({ model, input: "How are you?" }),
    },
    {
      name: `messages to ${model}`,
      path: "/chat/v1/messages",
      body: () => json({ model, max_tokens: 100, messages }),
    },
    {
      name: `generate to ${model}`,
      path: `/chat/v1/models/${encodeURIComponent(model)}:generateContent`,
      body: () => json({ contents }),
    },
  ]),
  {
    name: "a picture",
    path: "/imagen/v1/generate",
    body: () => json({ provider: "openai", prompt: "A red door." }),
  },
  {
    name: "a picture on the vendor's path",
    path: "/vendor-b/v1/images/generations",
    body: () => json({ model: "gpt-image-2", prompt: "A red door.", quality: "low" }),
  },
  {
    name: "a transcript",
    path: "/vendor-b/v1/audio/transcriptions",
    body: () => {
      const form = new FormData();
      const wav = Uint8Array.from(sound("wav", 2, "given"));
      form.append("model", "gpt-4o-transcribe");
      form.append("file", new File([wav], "a.wav", { type: "audio/wav" }));
      return form;
    },
  },
  {
    name: "vectors",
    path: "/chat/v1/embeddings",
    body: () => json({ model: "vendor-b/text-embedding-3-small", input: "a red door" }),
  },
  {
    name: "vectors of the generate dialect",
    path: "/vendor-d/v1/models/gemini-embedding-001:embedContent",
    body: () => json({ content: { parts: [{ text: "a red door" }] } }),
  },
];

async function send(
  path: string,
  body: string | FormData,
  headers: Record<string, string> = {},
): Promise<Response> {
  const type: Record<string, string> = typeof body === "string"
    ? { "content-type": "application/json" }
    : {};
  const answer = await service().fetch(path, {
    method: "POST",
    headers: { ...type, ...headers },
    body,
  });
  await answer.arrayBuffer();
  return answer;
}

const timing = /^gateway;dur=\d+\.\d, vendor;dur=(\d+\.\d)$/;
const costOf = ({ headers }: Response) => ({
  cost_usd: headers.get("x-cost-usd"),
  charged_usd: headers.get("x-charged-usd"),
});
const ofRow = ({ cost_usd, charged_usd }: Row) => ({ cost_usd, charged_usd });

for (const { name, path, body } of calls) {
  Deno.test(`${name}: the headers are the record's cost and charge`, async () => {
    const answer = await send(path, body());
    assert.equal(answer.status, 200);
    const row = await service().row(answer.headers.get("x-transaction-id"));
    assert.deepEqual(costOf(answer), ofRow(row));
    assert.match(costOf(answer).cost_usd ?? "", /^\d+\.\d{9}$/);
    assert.notEqual(row.cost_usd, "0.000000000");
    assert.equal(row.charged_usd, row.cost_usd);
    const [, vendorMs] = timing.exec(answer.headers.get("server-timing") ?? "") ?? [];
    assert.ok(Number(vendorMs) > 0, answer.headers.get("server-timing") ?? "none");
  });
}

const chat = "/chat/v1/chat/completions";
const chatBody = json({ model: "openai/gpt-4.1", messages });

Deno.test("a repeat says the same as the call that it repeats", async () => {
  const id = { "x-request-id": `repeat-${crypto.randomUUID()}` };
  const [first, second] = [await send(chat, chatBody, id), await send(chat, chatBody, id)];
  assert.equal(second.headers.get("x-idempotent-replay"), "true");
  for (const name of ["x-cost-usd", "x-charged-usd", "server-timing"]) {
    assert.ok(first.headers.get(name));
    assert.equal(second.headers.get(name), first.headers.get(name));
  }
});

Deno.test("an answer of the response cache costs nothing", async () => {
  const ttl = { "x-cache-ttl": "60" };
  const missed = await send(chat, chatBody, ttl);
  const hit = await send(chat, chatBody, ttl);
  assert.deepEqual([missed, hit].map((one) => one.headers.get("x-cache")), ["MISS", "HIT"]);
  assert.notEqual(costOf(missed).cost_usd, "0.000000000");
  const nothing = { cost_usd: "0.000000000", charged_usd: "0.000000000" };
  assert.deepEqual(costOf(hit), nothing);
  assert.deepEqual(ofRow(await service().row(hit.headers.get("x-transaction-id"))), nothing);
});

Deno.test("with a vendor key of the caller's own it costs and nothing is charged", async () => {
  const { key, simulators } = service();
  const authorization = `Bearer ${key};${simulators.vendors["vendor-b"].apiKey}`;
  const answer = await send(chat, chatBody, { authorization });
  const row = await service().row(answer.headers.get("x-transaction-id"));
  assert.equal(row.mode, "dual_key");
  assert.deepEqual(costOf(answer), ofRow(row));
  assert.notEqual(row.cost_usd, "0.000000000");
  assert.equal(costOf(answer).charged_usd, "0.000000000");
});

Deno.test("where no price is known no cost is named, and the charge is", () => {
  const settled = interactionRow("txn_1", { costNanos: null, chargedNanos: 0n });
  assert.deepEqual(settledHeaders({ settled }), { "x-charged-usd": "0.000000000" });
  assert.deepEqual(settledHeaders({}), {});
});

Deno.test("counting tokens costs nothing", async () => {
  const counts: [string, string][] = [
    ["/chat/v1/messages/count_tokens", json({ model: "anthropic/claude-sonnet-4-6", messages })],
    ["/chat/v1/messages/count_tokens", json({ model: "openai/gpt-4.1", messages })],
    ["/vendor-d/v1/models/gemini-2.5-flash:countTokens", json({ contents })],
  ];
  for (const [path, body] of counts) {
    const answer = await send(path, body);
    assert.equal(answer.status, 200);
    assert.deepEqual(costOf(answer), { cost_usd: "0.000000000", charged_usd: "0.000000000" });
    assert.match(answer.headers.get("server-timing") ?? "", timing);
  }
});

Deno.test("errors and streams say nothing of a cost", async () => {
  const answers = [
    await send(chat, json({ model: "openai/gpt-4.1", messages, n: 0 })),
    await send(
      chat,
      json({ model: "openai/gpt-4.1", messages: [{ ...messages[0], content: "[error:500]" }] }),
    ),
    await send(chat, json({ model: "nobody/knows", messages })),
    await send(chat, json({ model: "openai/gpt-4.1", messages, stream: true })),
    await send("/chat/v1/models/openai%2Fgpt-4.1:streamGenerateContent", json({ contents })),
    await send("/vendor-b/v1/audio/speech", json({ model: "tts-1", voice: "alloy", input: "Hi." })),
  ];
  assert.deepEqual(answers.map(({ status }) => status < 400), [
    ...[false, false, false, true, true, true],
  ]);
  for (const answer of answers) {
    assert.deepEqual(costOf(answer), { cost_usd: null, charged_usd: null });
    assert.equal(answer.headers.get("server-timing"), null);
  }
});

Deno.test("pages of a permitted origin may read them", async () => {
  const answer = await send(chat, chatBody, { origin: "https://app.example" });
  const exposed = answer.headers.get("access-control-expose-headers") ?? "";
  for (const name of ["X-Cost-USD", "X-Charged-USD", "Server-Timing"]) {
    assert.ok(exposed.includes(name), exposed);
    assert.ok(answer.headers.get(name));
  }
  assert.ok(exposed.includes("X-Audio-Characters"), exposed);
});
