import assert from "@std/assert";
import { shared, startSimulatedService } from "../support/service.ts";
import { outcomeOf } from "../support/money.ts";

/** An account with the ten dollars of a first start, in front of vendors that check as real ones. */
const service = shared(() => startSimulatedService());

const sentence = "The quick brown fox jumps over the lazy dog. ";
/** 1 MiB of a picture; what it shows doesn't matter. */
const picture = `iVBORw0KGgo${"A".repeat(Math.ceil(1024 * 1024 / 3) * 4 - 11)}`;

function chat(model: string, content: unknown, more: Record<string, unknown> = {}) {
  return { model, messages: [{ role: "user", content }], ...more };
}

async function call(body: unknown, path = "/chat/v1/chat/completions") {
  return await outcomeOf(await service().post(path, body));
}

const usual = [
  "vendor-a/deepseek-ai/DeepSeek-V4-Flash",
  "vendor-b/gpt-6-luna",
  "vendor-b/gpt-4.1",
  "vendor-c/claude-haiku-4-5",
  "vendor-d/gemini-3.8-flash",
  "vendor-f/openai/gpt-5-mini",
  "vendor-g/grok-4.3",
];

for (const model of usual) {
  Deno.test(`${model} is admitted on ten dollars with a picture, with a long context, and without a limit`, async () => {
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${picture}` } };
    const plain = await call(chat(model, "Hi"));
    assert.equal(plain.status, 200, plain.text);
    // What a model can't see or hold is the vendor's to say; the credit covers it.
    const seen = await call(chat(model, [{ type: "text", text: "What is it?" }, image]));
    assert.notEqual(seen.status, 402, seen.text);
    const long = await call(chat(model, sentence.repeat(9000), { max_tokens: 4000 }));
    assert.notEqual(long.status, 402, long.text);
  });
}

Deno.test("a picture or document of eight megabytes reaches its vendor as a smaller one does", async () => {
  const data = "A".repeat(8 * 1024 * 1024);
  const image = {
    type: "image_url",
    image_url: { url: `data:image/png;base64,iVBORw0KGgo${data}` },
  };
  const file = {
    type: "file",
    file: { filename: "a.pdf", file_data: `data:application/pdf;base64,JVBERi0${data}` },
  };
  for (const model of ["vendor-b/gpt-6-luna", "vendor-c/claude-haiku-4-5"]) {
    for (const part of [image, file]) {
      const { status, text } = await call(chat(model, [part], { max_tokens: 20 }));
      // Whether it is a true picture, the vendor says.
      assert.ok(status === 200 || status === 400, `${model} ${part.type}: ${status} ${text}`);
    }
  }
});

Deno.test("an enormous limit on the answer is set aside for no more than the model can give", async () => {
  const limits = [200_000, 1e9, Number.MAX_SAFE_INTEGER];
  for (const limit of limits) {
    for (const model of usual) {
      const { status, text } = await call(chat(model, "Hi", { max_tokens: limit }));
      assert.ok(status === 200 || status === 400, `${model} ${limit}: ${text}`);
    }
    const { status, text } = await call(
      { model: "claude-haiku-4-5", max_tokens: limit, messages: [{ role: "user", content: "Hi" }] },
      "/vendor-c/v1/messages",
    );
    assert.ok(status === 200 || status === 400, text);
  }
  for (const limit of [1e300, -5, 0, 0.5]) {
    const { status, text } = await call(
      { contents: [{ parts: [{ text: "Hi" }] }], generationConfig: { maxOutputTokens: limit } },
      "/vendor-d/v1beta/models/gemini-2.5-flash:generateContent",
    );
    assert.ok(status === 200 || status === 400, `${limit}: ${text}`);
  }
  // Whoever asks for too much harms nobody who calls at the same time.
  const both = await Promise.all([
    call(chat("vendor-b/gpt-6-luna", "Hi", { max_tokens: Number.MAX_SAFE_INTEGER, n: 128 })),
    ...Array.from({ length: 5 }, () => call(chat("vendor-b/gpt-6-luna", "Hi"))),
  ]);
  assert.deepEqual(both.slice(1).map(({ status }) => status), Array(5).fill(200));
  assert.ok([200, 400, 402].includes(both[0]!.status), both[0]!.text);
});

Deno.test("media calls are held with what tools and files at addresses add to their prompts", async () => {
  // The picture alone holds 0.983 USD, its model's longest answer; the vector next to nothing.
  await using small = await startSimulatedService({ STARTING_CREDIT_USD: "1" });
  const fileData = { fileUri: "https://files.example/long.pdf", mimeType: "application/pdf" };
  const statusOf = async (path: string, body: unknown) =>
    (await outcomeOf(await small.post(path, body))).status;
  const picture = (google?: unknown) => {
    const provider_options = google === undefined ? undefined : { google };
    const ask = { model: "google/gemini-2.5-flash-image", prompt: "A boat", provider_options };
    return statusOf("/imagen/v1/generate", ask);
  };
  assert.equal(await picture({ tools: [{ urlContext: {} }] }), 402);
  assert.equal(await picture({ systemInstruction: { parts: [{ fileData }] } }), 402);
  assert.equal(await picture(), 200);
  const vectors = (count: number) =>
    statusOf("/vendor-d/v1beta/models/gemini-embedding-2:batchEmbedContents", {
      requests: Array.from({ length: count }, () => ({ content: { parts: [{ fileData }] } })),
    });
  assert.equal(await vectors(100), 402);
  assert.notEqual(await vectors(1), 402);
});
