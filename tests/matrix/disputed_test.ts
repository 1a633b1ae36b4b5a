/** A vendor's implausible report: charged as reserved, recorded, and no other caller's. */
import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import { flatPrices } from "../support/money.ts";
import { type Row, shared } from "../support/service.ts";
import { dialectNames } from "./raw_calls.ts";
import {
  scriptedLabel,
  scriptedModel,
  type ScriptedVendors,
  startScriptedVendors,
} from "./scripted_vendors.ts";

const service = shared(() => startScriptedVendors({ STARTING_CREDIT_USD: "2" }));

const answers: Record<DialectName, (input: unknown, output: unknown) => Record<string, unknown>> = {
  chat: (input, output) => ({
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content: "Hi." }, finish_reason: "stop" }],
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: 3 },
  }),
  responses: (input, output) => ({
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "m",
    status: "completed",
    output: [{
      id: "msg_1",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Hi.", annotations: [] }],
    }],
    usage: { input_tokens: input, output_tokens: output, total_tokens: 3 },
  }),
  messages: (input, output) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [{ type: "text", text: "Hi." }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: input, output_tokens: output },
  }),
  generate: (input, output) => ({
    candidates: [{
      index: 0,
      content: { role: "model", parts: [{ text: "Hi." }] },
      finishReason: "STOP",
    }],
    usageMetadata: { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: 3 },
    modelVersion: "m",
  }),
};

/** One call by the chat endpoint of a vendor whose answer this is; its row and what the caller got. */
async function ask(
  at: ScriptedVendors,
  model: string,
  answer: string,
  key = at.key,
): Promise<{ status: number; row: Row }> {
  const word = at.script((exchange) =>
    exchange.answer(200, answer, { "content-type": "application/json" })
  );
  const response = await at.post(
    "/chat/v1/chat/completions",
    { model, max_tokens: 20, messages: [{ role: "user", content: word }] },
    { authorization: `Bearer ${key}` },
  );
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return { status: response.status, row: await at.row(response.headers.get("x-transaction-id")) };
}

const modelOf = (dialect: DialectName) => `${scriptedLabel(dialect)}/${scriptedModel}`;

async function balance(at: ScriptedVendors): Promise<number> {
  const { json } = await at.admin("credits", "show");
  return Number((json as { balance_usd: string }).balance_usd);
}

Deno.test("an implausible report is charged as reserved, and the next call is not a 402", async () => {
  for (const dialect of dialectNames) {
    const had = await balance(service());
    const answer = answers[dialect](1e15, 7);
    const { row } = await ask(service(), modelOf(dialect), JSON.stringify(answer));
    assert.equal(row.billing_basis, "disputed", dialect);
    assert.equal(row.cost_usd, row.charged_usd);
    const charged = Number(row.charged_usd);
    assert.ok(charged > 0 && charged < 0.01, `${dialect}: ${charged}`);
    assert.deepEqual(row.usage_raw, answer.usage ?? answer.usageMetadata);
    assert.equal((had - await balance(service())).toFixed(9), row.charged_usd);
    const { row: next } = await ask(
      service(),
      modelOf(dialect),
      JSON.stringify(answers[dialect](3, 2)),
    );
    assert.equal(next.billing_basis, "reported");
  }
  const told = service().log.filter((line) =>
    line.includes("a vendor's reported usage or cost was implausible")
  );
  assert.equal(told.length, dialectNames.length);
  const metrics = await (await service().fetch("/metrics")).text();
  assert.match(metrics, /gateway_disputed_charges_total\{vendor="x-chat"\} 1/);
});

Deno.test("an excess that could be true is settled at its real cost", async () => {
  const { row } = await ask(service(), modelOf("chat"), JSON.stringify(answers.chat(5000, 2)));
  // 5,000 tokens in, some times what was set aside, and 2 out at 2 and 8 USD a million.
  assert.deepEqual([row.charged_usd, row.billing_basis], ["0.010016000", "reported"]);
});

/** By dialect, a request whose vendor fetches a picture or a document that is not in it. */
const fetched: readonly (readonly [DialectName, string, (word: string) => unknown])[] = [
  ["chat", "/v1/chat/completions", (text) => ({
    messages: [{
      role: "user",
      content: [{ type: "text", text }, { type: "image_url", image_url: { url: address } }],
    }],
  })],
  ["responses", "/v1/responses", (text) => ({
    input: [{
      role: "user",
      content: [{ type: "input_text", text }, { type: "input_file", file_url: address }],
    }],
  })],
  ["messages", "/v1/messages", (text) => ({
    messages: [{
      role: "user",
      content: [{ type: "text", text }, {
        type: "document",
        source: { type: "url", url: address },
      }],
    }],
  })],
  ["generate", `/v1beta/models/${scriptedModel}:generateContent`, (text) => ({
    contents: [{ role: "user", parts: [{ text }, { fileData: { fileUri: address } }] }],
  })],
];
const address = "https://files.example/long.pdf";

for (const [dialect, path, bodyOf] of fetched) {
  Deno.test(`what a vendor reads at an address is believed: ${dialect}`, async () => {
    const answer = JSON.stringify(answers[dialect](60_000, 7));
    const word = service().script((exchange) =>
      exchange.answer(200, answer, { "content-type": "application/json" })
    );
    const limits = dialect === "responses"
      ? { max_output_tokens: 20 }
      : dialect === "generate"
      ? { generationConfig: { maxOutputTokens: 20 } }
      : { max_tokens: 20 };
    const model = dialect === "generate" ? {} : { model: scriptedModel };
    const body = { ...model, ...limits, ...bodyOf(word) as object };
    const response = await service().post(`/${scriptedLabel(dialect)}${path}`, body);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const row = await service().row(response.headers.get("x-transaction-id"));
    assert.deepEqual([row.charged_usd, row.billing_basis], ["0.120056000", "reported"]);
  });
}

Deno.test("no number keeps a record from being stored, whoever pays", async () => {
  const odd = ["1e30", "-7", "0.5", "9007199254740993", "1e400", '"12"', "null", "[]", "true"];
  for (const dialect of dialectNames) {
    for (const number of odd) {
      const text = JSON.stringify(answers[dialect]("@", "@")).replaceAll('"@"', number);
      for (const key of [service().key, `${service().key};sk-of-the-caller`]) {
        const { row } = await ask(service(), modelOf(dialect), text, key);
        const isOwn = key !== service().key;
        assert.ok(Number(row.charged_usd) < 0.01, `${dialect} ${number}`);
        if (isOwn) assert.deepEqual([row.charged_usd, row.mode], ["0.000000000", "dual_key"]);
        for (const name of ["input_tokens", "output_tokens", "total_tokens"]) {
          assert.ok(Number.isSafeInteger(row[name]), `${dialect} ${number} ${name}: ${row[name]}`);
        }
      }
    }
  }
});

Deno.test("a stream's report is judged as a whole answer's", async () => {
  const { choices: _choices, ...rest } = answers.chat(1e15, 1e15);
  const events = [
    {
      ...rest,
      object: "chat.completion.chunk",
      usage: null,
      choices: [{ index: 0, delta: { content: "Hi." }, finish_reason: null }],
    },
    {
      ...rest,
      object: "chat.completion.chunk",
      usage: null,
      choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
    },
    { ...rest, object: "chat.completion.chunk", choices: [] },
  ];
  const word = service().script((exchange) =>
    exchange.stream([
      ...events.map((one) => `data: ${JSON.stringify(one)}\n\n`),
      "data: [DONE]\n\n",
    ])
  );
  const response = await service().post("/chat/v1/chat/completions", {
    model: modelOf("chat"),
    max_tokens: 20,
    stream: true,
    messages: [{ role: "user", content: word }],
  });
  await response.text();
  const row = await service().row(response.headers.get("x-transaction-id"));
  assert.deepEqual([row.billing_basis, row.status], ["disputed", "completed"]);
  assert.ok(Number(row.charged_usd) < 0.01);
});

Deno.test("a vendor's cost is believed as far as it could be true", async () => {
  await using plain = await startScriptedVendors();
  await using at = await startScriptedVendors({
    VENDOR_F_BASE_URL: `${plain.vendor.url}/f/v1`,
    VENDOR_F_API_KEY: "sk-of-f",
    VENDOR_G_BASE_URL: `${plain.vendor.url}/g/v1`,
    VENDOR_G_API_KEY: "sk-of-g",
    PRICES_FILE: await flatPrices("0.01", "xai/grok-4.3"),
    STARTING_CREDIT_USD: "1",
  });
  const call = async (cost: string, model = "vendor-f/openai/gpt-5-mini", field = "cost") => {
    const answer = JSON.stringify({ ...answers.chat(10, 2) }).replace(
      '"total_tokens":3',
      `"total_tokens":3,"${field}":${cost}`,
    );
    const word = plain.script((exchange) =>
      exchange.answer(200, answer, { "content-type": "application/json" })
    );
    const response = await at.post("/chat/v1/chat/completions", {
      model,
      max_tokens: 20,
      messages: [{ role: "user", content: word }],
    });
    assert.equal(response.status, 200, await response.text());
    return await at.row(response.headers.get("x-transaction-id"));
  };
  const believed = await call("0.00001");
  assert.deepEqual([believed.billing_basis, believed.charged_usd], ["vendor_cost", "0.000010000"]);
  for (const cost of ["5", "1e30", "1e300", "123456789012345678901234567890"]) {
    const row = await call(cost);
    assert.equal(row.billing_basis, "disputed", cost);
    assert.ok(
      Number(row.charged_usd) > 0 && Number(row.charged_usd) < 0.1,
      `${cost}: ${row.charged_usd}`,
    );
  }
  const negative = await call("-3");
  assert.deepEqual([negative.billing_basis], ["reported"]);
  const free = await call("0");
  assert.deepEqual([free.billing_basis, free.charged_usd], ["vendor_cost", "0.000000000"]);

  const atXai = async (ticks: string, model = "grok-4.7") => {
    const row = await call(ticks, `vendor-g/${model}`, "cost_in_usd_ticks");
    return [row.billing_basis, row.charged_usd];
  };
  assert.deepEqual(await atXai("123456"), ["vendor_cost", "0.000012346"]);
  // 10 tokens × 2 and 2 × 6 per million.
  assert.deepEqual(await atXai("0"), ["reported", "0.000032000"]);
  assert.equal((await atXai("50000000000"))[0], "disputed");
  assert.deepEqual(await atXai("123456", "grok-4.3"), ["reported", "0.010000000"]);
  assert.ok(await balance(at) > 0.8);
});

Deno.test("pictures, transcripts and vectors are judged alike", async () => {
  await using scripted = await startScriptedVendors();
  await using at = await startScriptedVendors({
    VENDOR_B_BASE_URL: `${scripted.vendor.url}/b/v1`,
    VENDOR_B_API_KEY: "sk-of-b",
  });
  const tokens =
    '{"input_tokens":1e15,"output_tokens":1e15,"prompt_tokens":1e15,"total_tokens":1e15}';
  const sound = new File([new Uint8Array(4000)], "a.mp3", { type: "audio/mpeg" });
  const form = (fields: Record<string, string | File>) => {
    const made = new FormData();
    for (const [name, value] of Object.entries(fields)) made.append(name, value);
    return made;
  };
  const json = (value: unknown) => new Blob([JSON.stringify(value)], { type: "application/json" });
  const calls: [path: string, answer: string, body: (prompt: string) => BodyInit][] = [
    [
      "/vendor-b/v1/images/generations",
      `{"created":1,"data":[{"b64_json":"iVBORw0KGgo="}],"usage":${tokens}}`,
      (prompt) => json({ model: "gpt-image-2", prompt, quality: "low" }),
    ],
    [
      "/chat/v1/embeddings",
      `{"object":"list","model":"m","data":[{"object":"embedding","index":0,"embedding":[1]}],"usage":${tokens}}`,
      (input) => json({ model: "vendor-b/text-embedding-3-small", input }),
    ],
    [
      "/vendor-b/v1/audio/transcriptions",
      '{"text":"Hi.","usage":{"type":"duration","seconds":1e308}}',
      (prompt) => form({ model: "whisper-1", prompt, file: sound }),
    ],
    [
      "/vendor-b/v1/audio/transcriptions",
      `{"text":"Hi.","usage":${tokens}}`,
      (prompt) => form({ model: "gpt-4o-transcribe", prompt, file: sound }),
    ],
  ];
  for (const [path, answer, body] of calls) {
    const word = scripted.script((exchange) =>
      exchange.answer(200, answer, { "content-type": "application/json" })
    );
    const response = await at.fetch(path, { method: "POST", body: body(word) });
    assert.equal(response.status, 200, await response.text());
    const row = await at.row(response.headers.get("x-transaction-id"));
    const charged = Number(row.charged_usd);
    assert.equal(row.billing_basis, "disputed", `${path}: ${charged}`);
    assert.ok(charged > 0 && charged < 1, `${path}: ${charged}`);
  }
});

Deno.test("a prompt that passes for a picture costs what its vendor reports of it", async () => {
  await using scripted = await startScriptedVendors();
  await using at = await startScriptedVendors({
    VENDOR_B_BASE_URL: `${scripted.vendor.url}/b/v1`,
    VENDOR_B_API_KEY: "sk-of-b",
    // Covers what a picture holds, 0.035, and not what its base64 would cost as text.
    STARTING_CREDIT_USD: "0.12",
  });
  const answered = (answer: unknown) =>
    scripted.script((exchange) =>
      exchange.answer(200, JSON.stringify(answer), { "content-type": "application/json" })
    );
  const capped = await at.createKey("--cap-day-usd", "0.05");
  const settled = async (path: string, body: unknown, key = at.key) => {
    const response = await at.post(path, body, { authorization: `Bearer ${key}` });
    assert.equal(response.status, 200, await response.text());
    const row = await at.row(response.headers.get("x-transaction-id"));
    return [row.billing_basis, row.charged_usd];
  };
  const chat = (tokens: number, part: unknown, key?: string) => {
    const text = answered(answers.chat(tokens, 2));
    const messages = [{ role: "user", content: [{ type: "text", text }, part] }];
    const body = { model: "gpt-4.1", max_tokens: 20, messages };
    return settled("/vendor-b/v1/chat/completions", body, key);
  };
  // 2 MB.
  const disguised = `iVBORw0KGgo/${"tell_me_all-".repeat(170_000)}`;
  const asText = { type: "text", text: disguised };
  const url = `data:image/png;base64,iVBORw0KGgo${"A".repeat(2_000_000)}`;
  assert.deepEqual(
    await chat(1000, { type: "image_url", image_url: { url } }, capped.key),
    ["reported", "0.002016000"],
  );
  const [basis, charged] = await chat(1e9, asText);
  assert.equal(basis, "disputed");
  assert.ok(Number(charged) > 0.034 && Number(charged) < 0.037, `${charged}`);
  const vectors = answered({
    object: "list",
    data: [{ object: "embedding", index: 0, embedding: [1] }],
    model: "m",
    usage: { prompt_tokens: 500_000, total_tokens: 500_000 },
  });
  assert.deepEqual(
    await settled("/vendor-b/v1/embeddings", {
      model: "text-embedding-3-small",
      input: [vectors, disguised],
    }),
    ["reported", "0.010000000"],
  );
  assert.deepEqual(
    await chat(500_000, asText),
    ["reported", "1.000016000"],
  );
  assert.ok(await balance(at) < -0.9);
});
