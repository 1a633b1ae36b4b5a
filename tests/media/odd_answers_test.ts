/** Vendors that answer a picture, speech, a transcript or vectors with something else. */
import assert from "@std/assert";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { RowChecks } from "../support/row_checks.ts";
import { shared, startTestService, type TestService } from "../support/service.ts";

interface Odd {
  status?: number;
  body: unknown;
  type?: string;
}

type World = TestService & { answer: (odd: Odd) => void };

async function start(): Promise<World> {
  let next: Odd = { body: {} };
  const vendor = await startFakeVendor((exchange) => {
    const { status = 200, body, type = "application/json" } = next;
    return exchange.answer(status, body, { "content-type": type });
  });
  const service = await startTestService({
    database: "any",
    env: {
      ...{ VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "sk-of-a-test" },
      ...{ VENDOR_D_BASE_URL: `${vendor.url}/v1beta`, VENDOR_D_API_KEY: "a-key-of-a-test" },
    },
  });
  const close = async () => {
    await service.stop();
    await vendor[Symbol.asyncDispose]();
  };
  return {
    ...{ ...service, answer: (odd) => next = odd },
    stop: close,
    [Symbol.asyncDispose]: close,
  };
}

const service = shared(start);

const calls: Readonly<Record<string, readonly [path: string, body: Record<string, unknown>]>> = {
  pictures: ["/vendor-b/v1/images/generations", { model: "gpt-image-2", prompt: "A boat" }],
  "unified pictures": ["/imagen/v1/generate", { model: "vendor-b/gpt-image-2", prompt: "A boat" }],
  speech: ["/vendor-b/v1/audio/speech", { model: "tts-1", voice: "alloy", input: "Hello" }],
  "unified speech": ["/tts/v1/generate", { model: "vendor-b/tts-1", input: "Hello" }],
  vectors: ["/vendor-b/v1/embeddings", { model: "text-embedding-3-small", input: "Hello" }],
  "vectors in batches": [
    ...["/chat/v1/embeddings", { model: "google/gemini-embedding-001", input: "Hello" }] as const,
  ],
};

const rows = new RowChecks();
const invalid = "upstream_invalid_response";
const nested = "[".repeat(2000) + "]".repeat(2000);
const odds: readonly [what: string, odd: Odd, codes: readonly string[], words?: string][] = [
  [
    "an error in a good status",
    { body: { error: { message: "The engine is on fire.", code: 503 } } },
    ["upstream_overloaded"],
  ],
  [
    "a refusal in a good status",
    { body: { error: { message: "Too many words in it.", code: 400 } } },
    ["invalid_request"],
    "Too many words in it",
  ],
  ["an empty object", { body: {} }, [invalid, "upstream_error"]],
  ["null", { body: "null" }, [invalid, "upstream_error"]],
  ["half of an answer", { body: '{"data":[{"b64_' }, [invalid]],
  ["a page", { body: "<html>Welcome</html>", type: "text/html" }, [invalid]],
  ["nothing", { body: "" }, [invalid]],
  ["JSON that is nested too deeply", { body: `{"data":[${nested}]}` }, [invalid]],
];

for (const [what, odd, codes, words] of odds) {
  for (const [name, [path, body]] of Object.entries(calls)) {
    Deno.test(`${what} in the place of ${name} is a failure of the vendor's, and costs nothing`, async () => {
      service().answer(odd);
      const answer = await service().post(path, body);
      const text = await answer.text();
      assert.ok(answer.status >= 400, `${answer.status} ${text}`);
      const { error } = JSON.parse(text);
      assert.ok(codes.includes(error.code), text);
      if (words) assert.ok(text.includes(words), text);
      rows.expect(answer, `${what} in the place of ${name}`, (row) => {
        assert.deepEqual([row.status, row.charged_usd], ["failed", "0.000000000"]);
      });
    });
  }
}

for (const name of ["pictures", "unified pictures", "speech"]) {
  Deno.test(`an event of ${name} that holds more than an answer may ends the stream unparsed`, async () => {
    const [path, body] = calls[name]!;
    const event = `{"audio":"AQID","b64_json":"${"A".repeat(64 * 1024)}","deep":${nested}}`;
    const whole = name === "speech" ? "speech.audio.done" : "image_generation.completed";
    service().answer({
      body: `data: ${event}\n\ndata: {"type":"${whole}","b64_json":"AAAA"}\n\n`,
      type: "text/event-stream",
    });
    const answer = await service().post(path, { ...body, stream: true });
    const text = await answer.text();
    assert.match(text, new RegExp(invalid));
    assert.doesNotMatch(text, /deep/);
    rows.expect(answer, name, ({ status, error_code: code, charged_usd: charged }) => {
      assert.deepEqual([status, code, charged], ["failed", invalid, "0.000000000"]);
    });
  });
}

for (const name of ["pictures", "unified pictures"]) {
  Deno.test(`an error among the events of ${name} is the call's; partial ones are charged`, async () => {
    const [path, body] = calls[name]!;
    const refused = "content_policy_violation";
    const partial = JSON.stringify({ type: "image_generation.partial_image", b64_json: "AAAA" });
    const blocked = { message: "No.", code: "moderation_blocked" };
    const error = JSON.stringify({ type: "error", error: blocked });
    for (const events of [[error], [partial, error]]) {
      service().answer({
        body: events.map((data) => `data: ${data}\n\n`).join(""),
        type: "text/event-stream",
      });
      const answer = await service().post(path, { ...body, stream: true });
      assert.match(await answer.text(), new RegExp(refused));
      rows.expect(answer, `${name}, ${events.length} events`, (row) => {
        const { status, error_code: code, response } = row;
        assert.deepEqual([status, code, response], ["failed", refused, null]);
        assert.equal(Number(row.charged_usd) > 0, events.length > 1);
      });
    }
  });
}

Deno.test("audio that comes in one piece before an error is returned, and charged", async () => {
  const { answer, post, row } = service();
  const sound = new Uint8Array(48_000).fill(7);
  const delta = JSON.stringify({ type: "speech.audio.delta", audio: sound.toBase64() });
  const error = JSON.stringify({ type: "error", error: { message: "Out of breath." } });
  answer({ body: `data: ${delta}\n\ndata: ${error}\n\n`, type: "text/event-stream" });
  const request = { model: "vendor-b/gpt-4o-mini-tts", input: "Hello there", stream: true };
  const spoken = await post("/tts/v1/generate", { ...request, response_format: "pcm" });
  assert.equal(spoken.status, 200);
  // That the sound itself arrives is shown in src/http/stream_sink_test.ts: this client may drop it.
  await assert.rejects(() => spoken.arrayBuffer());
  const { status, billing_basis, charged_usd } = await row(
    spoken.headers.get("x-transaction-id"),
  );
  assert.deepEqual([status, billing_basis], ["failed", "estimated"]);
  assert.ok(Number(charged_usd) > 0);
});

Deno.test("speech of a model whose name can't stand in a header has it encoded in X-Model", async () => {
  const { answer, post, key } = service();
  answer({ body: "ID3 sound", type: "audio/mpeg" });
  const body = { model: "openai/tts-ü-€", input: "Hello" };
  const spoken = await post("/tts/v1/generate", body, { authorization: `Bearer ${key};sk-own-1` });
  assert.equal(spoken.status, 200, await spoken.text());
  assert.equal(spoken.headers.get("x-model"), "vendor-b/tts-%C3%BC-%E2%82%AC");
});

Deno.test("vectors may hold more values than other answers", async () => {
  const embedding = Array(2100).fill(0);
  const data = Array.from(
    { length: 1000 },
    (_, index) => ({ object: "embedding", index, embedding }),
  );
  service().answer({ body: { data, usage: { prompt_tokens: 9, total_tokens: 9 } } });
  const [path, body] = calls.vectors!;
  const answer = await service().post(path, body);
  assert.equal((await answer.json()).data.length, 1000);
});

Deno.test("pictures without b64_json, with null usage or by address are passed on, and paid", async () => {
  const [path, body] = calls.pictures!;
  for (
    const data of [
      [{ url: "https://pictures.example/1.png" }],
      [{ b64_json: null, url: "https://pictures.example/1.png" }],
      [{}],
    ]
  ) {
    service().answer({ body: { created: 7, data, usage: null } });
    const answer = await service().post(path, body);
    assert.deepEqual(await answer.json(), { created: 7, data, usage: null });
    rows.expect(answer, JSON.stringify(data), (row) => {
      assert.deepEqual([row.status, row.billing_basis], ["completed", "estimated"]);
      assert.ok(Number(row.charged_usd) > 0);
    });
  }
});

Deno.test("a cost that this vendor isn't believed makes no answer free", async () => {
  const usage = { input_tokens: 0, output_tokens: 0, prompt_tokens: 0, cost: 0.01 };
  const data = [{ b64_json: "aGk=", embedding: [0.5] }];
  const done = { type: "speech.audio.done", usage };
  const sound = { type: "speech.audio.delta", audio: new Uint8Array(48_000).toBase64() };
  const events = [sound, done].map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
  const body = { created: 7, data, usage };
  const spoken = { type: "text/event-stream", body: events };
  const drawn = { type: "image_generation.completed", b64_json: "aGk=", usage };
  const stream = { type: "text/event-stream", body: `data: ${JSON.stringify(drawn)}\n\n` };
  const streamed = (name: string): [string, Record<string, unknown>] => {
    const [path, asked] = calls[name]!;
    return [path, { ...asked, stream: true }];
  };
  const [speech, fields] = calls.speech!;
  const cases: [Odd, string, Record<string, unknown>][] = [
    [{ body }, ...calls.pictures!],
    [{ body }, ...calls["unified pictures"]!],
    [stream, ...streamed("pictures")],
    [stream, ...streamed("unified pictures")],
    [{ body }, ...calls.vectors!],
    [spoken, speech, { ...fields, model: "gpt-4o-mini-tts", stream_format: "sse" }],
  ];
  for (const [odd, path, asked] of cases) {
    service().answer(odd);
    const answer = await service().post(path, asked);
    assert.equal(answer.status, 200, path);
    await answer.arrayBuffer();
    rows.expect(answer, path, (row) => {
      assert.equal(row.billing_basis, "estimated");
      assert.ok(Number(row.charged_usd) > 0);
    });
  }
});

Deno.test("pictures beside an error are passed on, and paid", async () => {
  const error = { message: "One of two failed.", code: 500 };
  const drawn = [
    { b64_json: `iVBORw0KGgo${"A".repeat(200_001)}` },
    { b64_json: "iVBORw0KGgoA" },
    { url: "https://pictures.example/boat.png" },
  ];
  const predictions = [{ mimeType: "image/png", bytesBase64Encoded: "iVBORw0KGgoA" }];
  const imagen = ["/vendor-d/v1beta/models/imagen-4.0-generate-001:predict", {
    instances: [{ prompt: "A boat" }],
  }] as const;
  const cases = [
    ...drawn.map((one) => ({ call: calls.pictures!, body: { created: 7, data: [one], error } })),
    { call: imagen, body: { predictions, error } },
  ];
  for (const { call: [path, asked], body } of cases) {
    service().answer({ body });
    const answer = await service().post(path, asked);
    assert.deepEqual([answer.status, await answer.json()], [200, body]);
    rows.expect(answer, "beside an error", (row) => {
      assert.equal(row.status, "completed");
      assert.ok(Number(row.charged_usd) > 0);
    });
  }
});

Deno.test("an error beside a list without pictures is passed on as the error", async () => {
  for (const data of [[], [{}], [{ b64_json: "" }], ["none"]]) {
    service().answer({ body: { data, error: { message: "Too many words in it.", code: 400 } } });
    const answer = await service().post(...calls.pictures!);
    assert.match((await answer.json()).error.message, /Too many words/);
    rows.expect(answer, "an error", (row) => assert.equal(row.charged_usd, "0.000000000"));
  }
});

Deno.test("the unified body has the pictures that stand beside an error, and they are paid", async () => {
  const small = "iVBORw0KGgoA";
  const large = `iVBORw0KGgo${"A".repeat(200_001)}`;
  for (const picture of [small, large]) {
    const error = { message: "One of two failed.", code: 500 };
    service().answer({ body: { created: 7, data: [{ b64_json: picture }], error } });
    const answer = await service().post(...calls["unified pictures"]!);
    const text = await answer.text();
    assert.equal(answer.status, 200, text.slice(0, 200));
    assert.ok(text.includes(picture));
    rows.expect(answer, "beside an error", (row) => {
      assert.equal(row.status, "completed");
      assert.ok(Number(row.charged_usd) > 0);
    });
  }
});

Deno.test("a large picture has its declared type, and what is no picture stays in the text", async () => {
  const large = `AAAAIGZ0eXBhdmlm${"A".repeat(200_000)}`;
  const prediction = { mimeType: "image/avif", bytesBase64Encoded: large, signature: large };
  service().answer({ body: { predictions: [prediction] } });
  const path = "/vendor-d/v1beta/models/imagen-4.0-generate-001:predict";
  const answer = await service().post(path, { instances: [{ prompt: "A boat" }] });
  assert.deepEqual(await answer.json(), { predictions: [prediction] });
  const row = await service().row(answer.headers.get("x-transaction-id"));
  const { predictions: [recorded] } = row.response as { predictions: [typeof prediction] };
  assert.match(JSON.stringify(recorded.bytesBase64Encoded), /"bytes":150012,.*"image\/avif"/);
  assert.ok(recorded.signature === large);
});

Deno.test("the unified body takes a list without pictures for a refusal", async () => {
  const [path, body] = calls["unified pictures"]!;
  for (
    const [data, code] of [[[{}], "content_policy_violation"], [
      [],
      "content_policy_violation",
    ]] as const
  ) {
    service().answer({ body: { created: 7, data } });
    const answer = await service().post(path, body);
    const { error } = await answer.json();
    assert.equal(error.code, code);
    rows.expect(answer, error.message, (row) => assert.equal(row.charged_usd, "0.000000000"));
  }
});

const unreadable = "AAAAA";
const generated = { inlineData: { mimeType: "image/png", data: unreadable } };
const notImages: readonly [what: string, model: string, odd: Odd][] = [
  ["cut base64", "vendor-b/gpt-image-2", { body: { data: [{ b64_json: unreadable }] } }],
  ["words", "vendor-b/dall-e-3", { body: { data: [{ b64_json: "Here it is!" }] } }],
  [
    "cut base64",
    "vendor-d/imagen-4.0-generate-001",
    { body: { predictions: [{ bytesBase64Encoded: unreadable }] } },
  ],
  [
    "cut base64",
    "vendor-d/gemini-2.5-flash-image",
    { body: { candidates: [{ content: { parts: [generated] }, finishReason: "STOP" }] } },
  ],
  ["an empty file", "vendor-b/gpt-image-2", { body: "", type: "image/png" }],
];

for (const [what, model, odd] of notImages) {
  Deno.test(`${what} in place of a picture of ${model} is a failure of the vendor's, not a refusal`, async () => {
    service().answer(odd);
    const answer = await service().post("/imagen/v1/generate", { model, prompt: "A boat" });
    const { error } = await answer.json();
    assert.deepEqual([answer.status, error.type], [502, "upstream_error"]);
    const row = await service().row(answer.headers.get("x-transaction-id"));
    assert.deepEqual([row.status, row.charged_usd], ["failed", "0.000000000"]);
  });
}

Deno.test("words in place of the base64 of speech are a failure of the vendor's", async () => {
  const words = { inlineData: { mimeType: "audio/L16;rate=24000", data: "Here it is!" } };
  const sound = { inlineData: { ...words.inlineData, data: "AQID" } };
  for (const parts of [[words], [sound, words]]) {
    service().answer({ body: { candidates: [{ content: { parts } }] } });
    const body = { model: "vendor-d/gemini-2.5-flash-preview-tts", input: "Hello" };
    const answer = await service().post("/tts/v1/generate", body);
    const { error } = await answer.json();
    assert.deepEqual([answer.status, error.code], [502, invalid]);
    const row = await service().row(answer.headers.get("x-transaction-id"));
    assert.deepEqual([row.status, row.charged_usd], ["failed", "0.000000000"]);
  }
});

Deno.test("a refusal to draw is told without the secrets in it", async () => {
  const [path, body] = calls["unified pictures"]!;
  const blockReasonMessage = `Not for sk-proj-${"a".repeat(40)}.`;
  service().answer({ body: { promptFeedback: { blockReason: "SAFETY", blockReasonMessage } } });
  const answer = await service().post(path, { ...body, model: "google/gemini-2.5-flash-image" });
  const text = await answer.text();
  assert.match(text, /withheld all images: Not for /);
  assert.doesNotMatch(text, /aaaa/);
});

Deno.test("a vendor's refusal has its reason, costs nothing and is an error of our form", async () => {
  const refusal = {
    message: "Your request was rejected by the safety system.",
    type: "image_generation_user_error",
    code: "moderation_blocked",
    param: null,
  };
  service().answer({ status: 400, body: { error: refusal } });
  for (const name of ["pictures", "unified pictures"]) {
    const [path, body] = calls[name]!;
    const answer = await service().post(path, body);
    const { error } = await answer.json();
    assert.deepEqual([answer.status, error.code], [400, "content_policy_violation"]);
    assert.match(error.message, /rejected by the safety system/);
    rows.expect(answer, error.message, (row) => assert.equal(row.charged_usd, "0.000000000"));
  }
});

rows.register(service);
