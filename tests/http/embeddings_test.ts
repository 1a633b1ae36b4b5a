/** `/chat/v1/embeddings` and the families' paths, by the vendor's own library. */
import assert from "@std/assert";
import OpenAI from "openai";
import { shared, startSimulatedService } from "../support/service.ts";
import { openai } from "../support/service_openai.ts";

const service = shared(() => startSimulatedService());
const client = (path = "/chat/v1") => openai(service(), path, { maxRetries: 0 });
const rowOf = (response: Response) => service().row(response.headers.get("x-transaction-id"));

/** Every vendor that has embeddings, and what a million tokens cost. */
const vendors = [
  { label: "vendor-a", alias: "huggingface", model: "Qwen/Qwen3-Embedding-8B", price: 0.01 },
  { label: "vendor-b", alias: "openai", model: "text-embedding-3-small", price: 0.02 },
  { label: "vendor-d", alias: "google", model: "gemini-embedding-001", price: 0.15 },
  { label: "vendor-d", alias: "google", model: "gemini-embedding-2", price: 0.2 },
  { label: "vendor-e", alias: "gemini", model: "gemini-embedding-2", price: 0.2 },
  { label: "vendor-f", alias: "openrouter", model: "qwen/qwen3-embedding-8b", price: 0.01 },
] as const;

const input = ["The cat sat on the mat.", "Ein zweiter Text.", "Третий."];

for (const { label, alias, model, price } of vendors) {
  Deno.test(`embeddings.create on ${alias}/${model}: numbers and base64 agree, tokens are paid`, async () => {
    const plain = await client().embeddings
      .create({ model: `${alias}/${model}`, input, encoding_format: "float" }).withResponse();
    const packed = await client().embeddings
      .create({ model: `${label}/${model}`, input }).withResponse();
    assert.deepEqual(plain.data.data.map(({ index }) => index), [0, 1, 2]);
    for (const [index, { embedding }] of plain.data.data.entries()) {
      assert.ok(Math.abs(Math.hypot(...embedding) - 1) < 1e-6);
      assert.deepEqual(packed.data.data[index]!.embedding, [...Float32Array.from(embedding)]);
    }
    for (const { data, response } of [plain, packed]) {
      const row = await rowOf(response);
      const { vendor, dialect, status, finish_reason } = row;
      assert.deepEqual({ vendor, model: row.model, dialect, status, finish_reason }, {
        ...{ vendor: label, model, dialect: "embeddings" },
        ...{ status: "completed", finish_reason: "stop" },
      });
      assert.ok(data.usage.prompt_tokens > 5);
      assert.equal(row.input_tokens, data.usage.prompt_tokens);
      const nanos = Math.round(data.usage.prompt_tokens * price * 1000);
      assert.equal(row.cost_usd, (nanos / 1e9).toFixed(9));
      assert.equal(row.charged_usd, row.cost_usd);
      const basis = model === "gemini-embedding-001"
        ? "estimated"
        : label === "vendor-f"
        ? "vendor_cost"
        : "reported";
      assert.equal(row.billing_basis, basis);
    }
  });

  Deno.test(`embeddings.create on ${alias}/${model}: one text, shortened vectors, the family's path`, async () => {
    const { data } = await client().embeddings.create({
      model: `${alias}/${model}`,
      input: "One text.",
      dimensions: 256,
    });
    assert.equal(data.length, 1);
    assert.equal(data[0]!.embedding.length, 256);
    // vendor-d's own paths are those of its own dialect.
    if (label === "vendor-d") return;
    const family = await client(`/${alias}/v1`).embeddings
      .create({ model, input: "One text.", dimensions: 256 });
    assert.deepEqual(family.data[0]!.embedding, data[0]!.embedding);
  });
}

const asked = () => service().simulators.requests("vendor-d").map(({ body }) => body);

Deno.test("more texts than vendor-d takes at once go in batches, and come back in their order", async () => {
  const many = Array.from({ length: 250 }, (_, index) => `Text number ${index}.`);
  const before = asked().length;
  const { data, response } = await client().embeddings
    .create({ model: "google/gemini-embedding-2", input: many, dimensions: 8 }).withResponse();
  const batches = asked().slice(before) as { requests: unknown[] }[];
  assert.deepEqual(batches.map(({ requests }) => requests.length), [100, 100, 50]);
  assert.deepEqual(data.data.map(({ index }) => index), many.map((_, index) => index));
  for (const index of [0, 99, 100, 249]) {
    const alone = await client().embeddings
      .create({ model: "google/gemini-embedding-2", input: many[index]!, dimensions: 8 });
    assert.deepEqual(data.data[index]!.embedding, alone.data[0]!.embedding, `text ${index}`);
  }
  const row = await rowOf(response);
  assert.equal(row.input_tokens, data.usage.prompt_tokens);
  assert.equal((row.request as { input: string[] }).input.length, 250);
});

Deno.test("where a later batch fails, those before it are paid for: the vendor bills them", async () => {
  const many = Array.from(
    { length: 150 },
    (_, index) => index === 120 ? "[error:400]" : "four words of text",
  );
  const failed = await client().embeddings
    .create({ model: "google/gemini-embedding-2", input: many })
    .then(
      () => assert.fail("it was answered"),
      (thrown) => thrown as InstanceType<typeof OpenAI.APIError>,
    );
  assert.equal(failed.status, 400);
  const [row] = await service().rows({ request_id: failed.requestID });
  assert.equal(row!.status, "failed");
  assert.equal(row!.input_tokens, 400);
  assert.equal(row!.charged_usd, (400 * 200 / 1e9).toFixed(9));
});

Deno.test("fields that vendor-d lacks are named; token numbers and too many texts are refused", async () => {
  const before = asked().length;
  const more = { model: "google/gemini-embedding-2", input: "x", user: "ada", truncate: "END" };
  const { response } = await client().embeddings
    .create(more as OpenAI.EmbeddingCreateParams).withResponse();
  assert.equal(response.headers.get("x-translation-loss"), "truncate");
  const row = await rowOf(response);
  assert.deepEqual([row.translation_loss, row.user_id], [["truncate"], "ada"]);
  assert.equal(asked().length, before + 1);

  const refused = async (body: unknown, headers: Record<string, string> = {}) => {
    const answer = await service().post("/chat/v1/embeddings", body, headers);
    const { error } = await answer.json();
    return [answer.status, error.code, error.param];
  };
  const model = "google/gemini-embedding-2";
  assert.deepEqual(await refused(more, { "x-translation-mode": "strict" }), [
    400,
    "unsupported_parameter",
    "truncate",
  ]);
  assert.deepEqual(await refused({ model, input: [1, 2, 3] }), [
    400,
    "unsupported_parameter",
    "input",
  ]);
  assert.deepEqual(await refused({ model, input: Array(2049).fill("x") }), [
    400,
    "invalid_value",
    "input",
  ]);
  assert.deepEqual(await refused({ model, input: [] }), [400, "invalid_value", "input"]);
  assert.deepEqual(await refused({ model, input: "x", dimensions: 0 }), [
    400,
    "invalid_value",
    "dimensions",
  ]);
  assert.deepEqual(await refused({ model, input: "x", encoding_format: "hex" }), [
    400,
    "invalid_value",
    "encoding_format",
  ]);
  assert.equal(asked().length, before + 1, "vendor-d was not asked");
});

Deno.test("an invalid translation header is refused, also where nothing is translated", async () => {
  const embedding = { model: "openai/text-embedding-3-small", input: "x" };
  const speech = { model: "gpt-4o-mini-tts", voice: "alloy", input: "x" };
  for (
    const [path, body] of [["/chat/v1/embeddings", embedding], ["/openai/v1/audio/speech", speech]]
  ) {
    for (const name of ["X-Translation-Mode", "X-Prompt-Cache"]) {
      const answer = await service().post(String(path), body, { [name]: "stritc" });
      assert.equal(answer.status, 400, `${path} ${name}`);
      assert.equal((await answer.json()).error.param, name);
    }
  }
});

Deno.test("the refusal of a vendor without embeddings names those that have them", async () => {
  for (const model of ["anthropic/claude-opus-5", "xai/grok-4.3"]) {
    const answer = await service().post("/chat/v1/embeddings", { model, input: "x" });
    const { error } = await answer.json();
    assert.deepEqual([answer.status, error.code, error.param], [404, "model_not_found", "model"]);
    for (const { label } of vendors) assert.match(error.message, new RegExp(label));
  }
});
