/** The generate vendor's own methods beside generating, by its own library and by hand. */
import assert from "@std/assert";
import { GoogleGenAI } from "@google/genai";
// Of the newest major this method asks another service of the vendor's.
import { GoogleGenAI as FirstGenAI } from "@google/genai-1";
import { shared, startSimulatedService } from "../support/service.ts";

const service = shared(() => startSimulatedService({}, { database: "any" }));
const optionsOf = (path: string) => ({
  apiKey: service().key,
  httpOptions: { baseUrl: service().baseUrl + path },
});

/** Paths, and how a model is named below them. */
const prefixes = [["/vendor-d", ""], ["/google", "google/"], ["/chat", "vendor-d/"]] as const;

for (const [path, prefix] of prefixes) {
  Deno.test(`genai below ${path}: generateImages draws, and each picture is paid`, async () => {
    const { generatedImages, sdkHttpResponse } = await new FirstGenAI(optionsOf(path)).models
      .generateImages({
        model: `${prefix}imagen-4.0-generate-001`,
        prompt: "/// APP shop\nA red door.",
        config: { numberOfImages: 2, aspectRatio: "4:3" },
      });
    assert.deepEqual(
      generatedImages!.map(({ image }) => [image!.mimeType, image!.imageBytes!.length > 1000]),
      [["image/png", true], ["image/png", true]],
    );
    const row = await rowOf(sdkHttpResponse?.headers);
    assert.deepEqual(
      [row.dialect, row.vendor, row.model, row.app, row.status, row.billing_basis, row.cost_usd],
      [
        ...["images", "vendor-d", "imagen-4.0-generate-001", "shop", "completed", "reported"],
        // 0.04 USD a picture.
        "0.080000000",
      ],
    );
  });

  Deno.test(`genai below ${path}: embedContent of one text and of several`, async () => {
    const { models } = new GoogleGenAI(optionsOf(path));
    const { embeddings, sdkHttpResponse } = await models.embedContent({
      model: `${prefix}gemini-embedding-001`,
      contents: ["a red door", "a green door", "a house"],
      config: { outputDimensionality: 256 },
    });
    assert.deepEqual(embeddings!.map(({ values }) => values!.length), [256, 256, 256]);
    const several = await rowOf(sdkHttpResponse?.headers);
    assert.deepEqual(
      [several.dialect, several.model, several.status, several.billing_basis],
      ["embeddings", "gemini-embedding-001", "completed", "estimated"],
    );
    const one = await models.embedContent({
      model: `${prefix}gemini-embedding-2`,
      contents: "a red door",
    });
    assert.equal(one.embeddings![0]!.values!.length, 3072);
    const row = await rowOf(one.sdkHttpResponse?.headers);
    assert.deepEqual([row.model, row.billing_basis], ["gemini-embedding-2", "reported"]);
    // 0.20 USD a million tokens.
    assert.equal(row.cost_usd, (Number(row.input_tokens) * 0.2e-6).toFixed(9));
  });
}

const content = { parts: [{ text: "a red door" }] };

Deno.test("an :embedContent by hand, without a count of tokens: estimated", async () => {
  for (const path of ["/vendor-d/v1/models", "/google/v1beta/models", "/vendor-d/v1beta"]) {
    const answer = await service().post(`${path}/gemini-embedding-001:embedContent`, {
      model: "models/gemini-embedding-001",
      content,
    });
    assert.equal(answer.status, 200, path);
    const { embedding } = await answer.json() as { embedding: { values: number[] } };
    assert.equal(embedding.values.length, 3072);
    const row = await service().row(answer.headers.get("x-transaction-id"));
    assert.deepEqual([row.status, row.billing_basis], ["completed", "estimated"]);
    assert.ok(Number(row.cost_usd) > 0);
  }
});

Deno.test("the same request id is answered once and charged once", async () => {
  const headers = { "x-request-id": "one-predict" };
  const body = { instances: [{ prompt: "A red door." }], parameters: { sampleCount: 1 } };
  const path = "/vendor-d/v1beta/models/imagen-4.0-fast-generate-001:predict";
  const [first, second] = [
    await service().post(path, body, headers),
    await service().post(path, body, headers),
  ];
  assert.equal(await first.text(), await second.text());
  const id = first.headers.get("x-transaction-id");
  assert.equal(second.headers.get("x-transaction-id"), id);
  assert.equal((await service().row(id)).cost_usd, "0.020000000");
});

Deno.test("what is wrong is refused in the dialect's own error form, by name", async () => {
  const models = "/vendor-d/v1beta/models";
  const wrong: [string, unknown, number, RegExp][] = [
    [`${models}/gemini-embedding-001:batchEmbedContents`, {}, 400, /requests/],
    [
      `${models}/gemini-embedding-001:batchEmbedContents`,
      { requests: Array(101).fill({ content }) },
      400,
      /requests/,
    ],
    [
      `${models}/gemini-embedding-001:batchEmbedContents`,
      { requests: [{ content }, { model: "models/gemini-embedding-2", content }] },
      400,
      /requests\[1\]\.model/,
    ],
    [`${models}/gemini-embedding-001:embedContent`, { content: "text" }, 400, /content/],
    [
      `${models}/gemini-embedding-2:embedContent`,
      { content: { parts: [{ file_data: { fileUri: "files/of-another" } }] } },
      400,
      /^content\.parts\[0\]\.file_data\.fileUri: .*own key/,
    ],
    [
      `${models}/gemini-embedding-2:batchEmbedContents`,
      {
        requests: [
          { content },
          { content: { parts: [{ fileData: { fileUri: "gs://bucket/of-another" } }] } },
        ],
      },
      400,
      /^requests\[1\]\.content\.parts\[0\]\.fileData\.fileUri: .*own key/,
    ],
    [`${models}/imagen-4.0-generate-001:predict`, { instances: [] }, 400, /instances/],
    [`${models}/imagen-4.0-generate-001:predict`, { instances: "x" }, 400, /instances/],
    [`${models}/no-such-model:predict`, { instances: [{ prompt: "x" }] }, 404, /no-such-model/],
    ["/chat/v1beta/models/vendor-b/gpt-5-mini:predict", { instances: [{}] }, 404, /vendor-d/],
    ["/chat/v1beta/models/vendor-c/claude-sonnet-4-6:embedContent", { content }, 404, /vendor-d/],
  ];
  for (const [path, body, status, words] of wrong) {
    const answer = await service().post(path, body);
    const { error } = await answer.json() as { error: { message: string; status: string } };
    assert.equal(answer.status, status, `${path}: ${error.message}`);
    assert.match(error.message, words, path);
    assert.equal(typeof error.status, "string");
  }
});

Deno.test("a generated image is stored separately and recorded with its call", async () => {
  const answer = await service().post(
    "/vendor-d/v1/models/imagen-4.0-generate-001:predict",
    { instances: [{ prompt: "A red door." }], parameters: { sampleCount: 1 } },
  );
  const { predictions } = await answer.json() as {
    predictions: { bytesBase64Encoded: string }[];
  };
  const row = await service().row(answer.headers.get("x-transaction-id"));
  const recorded = row.response as { predictions: { bytesBase64Encoded: { url: string } }[] };
  const { url } = recorded.predictions[0]!.bytesBase64Encoded;
  const media = await service().fetch(url);
  assert.equal(media.headers.get("content-type"), "image/png");
  const isSame = (await media.bytes()).toBase64() === predictions[0]!.bytesBase64Encoded;
  assert.ok(isSame, "the stored picture is the one that was answered");
});

async function rowOf(headers: Record<string, string> | undefined) {
  return await service().row(headers?.["x-transaction-id"] ?? null);
}
