/** The vendors' own libraries and the AI SDK, unmodified, on the vendors' paths. */
import assert from "@std/assert";
import { createOpenAI } from "@ai-sdk/openai";
import { GoogleGenAI } from "@google/genai";
import { embed, embedMany, generateImage, generateSpeech, transcribe } from "ai";
import { Buffer } from "node:buffer";
import OpenAI, { toFile } from "openai";
import { picture, sound } from "../../demo/simulator/samples/mod.ts";
import { mediaToolsAreThere, openPicture, openSound } from "../support/media_tools.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { openai } from "../support/service_openai.ts";

const service = shared(() => startSimulatedService({}, { database: "any" }));
const client = (path = "/vendor-b/v1") => openai(service(), path, { maxRetries: 0 });
const sdk = () =>
  createOpenAI({ baseURL: `${service().baseUrl}/vendor-b/v1`, apiKey: service().key });
const rowOf = (response: Response) => service().row(response.headers.get("x-transaction-id"));
const ignore = !mediaToolsAreThere();

const input = "Good morning. It is a fine day on the lake, and the boats go out.";
const spoken = sound("wav", 4, "a greeting");
const given = picture({ format: "png", width: 64, height: 64, subject: "given" });
const file = () => toFile(spoken, "greeting.wav", { type: "audio/wav" });

const codecs = { mp3: "mp3", opus: "opus", aac: "aac", flac: "flac", wav: "pcm_s16le" } as const;

for (const format of Object.keys(codecs) as (keyof typeof codecs)[]) {
  Deno.test({
    name: `openai: audio.speech.create gives ${format} that plays`,
    ignore,
    fn: () => speaks(format),
  });
}

async function speaks(format: keyof typeof codecs) {
  const { data, response } = await client().audio.speech
    .create({ model: "tts-1", voice: "nova", input, response_format: format }).withResponse();
  const report = await openSound(Buffer.from(await data.arrayBuffer()));
  assert.equal(report.codec, codecs[format]);
  assert.ok(Math.abs(report.seconds - input.length / 14) < 0.2, `${report.seconds} s`);
  // 15 USD a million characters.
  assert.equal((await rowOf(response)).cost_usd, (input.length * 15e-6).toFixed(9));
}

const heard: readonly [OpenAI.AudioResponseFormat, (answer: unknown) => void][] = [
  ["json", (answer) => assert.match((answer as { text: string }).text, /greeting\.wav/)],
  [
    "verbose_json",
    (answer) => {
      const { duration, language } = answer as { duration: number; language: string };
      assert.deepEqual([duration, language], [Math.ceil(spoken.length / 16_000), "english"]);
    },
  ],
  ["text", (answer) => assert.match(String(answer), /^I heard greeting\.wav/)],
  ["srt", (answer) => assert.match(String(answer), /^1\n00:00:00,000 --> /)],
  ["vtt", (answer) => assert.match(String(answer), /^WEBVTT\n/)],
];

for (const [format, check] of heard) {
  Deno.test(`openai: audio.transcriptions.create as ${format} arrives as it is, and is paid`, async () => {
    const { data, response } = await client().audio.transcriptions
      .create({ file: await file(), model: "whisper-1", response_format: format }).withResponse();
    check(data);
    const row = await rowOf(response);
    assert.equal(row.status, "completed");
    const isTold = format === "json" || format === "verbose_json";
    assert.equal(row.billing_basis, isTold ? "reported" : "estimated");
    // 0.006 USD a minute, of what the vendor tells or of what the file is long.
    const seconds = isTold ? Math.ceil(spoken.length / 16_000) : 4;
    assert.equal(row.cost_usd, (seconds * 0.0001).toFixed(9));
  });
}

Deno.test("openai: a transcript with its speakers arrives as it is", async () => {
  // The library's overloads have no type for it.
  const answer: unknown = await client().audio.transcriptions.create({
    file: await file(),
    model: "gpt-4o-transcribe-diarize",
    chunking_strategy: "auto",
    response_format: "diarized_json",
  });
  const { segments } = answer as OpenAI.Audio.TranscriptionDiarized;
  assert.deepEqual(segments.map(({ speaker }) => speaker), ["A"]);
});

Deno.test({
  name: "openai: images.generate gives dall-e pictures by the vendor's own address",
  async fn() {
    const { data, response } = await client().images
      .generate({ model: "dall-e-2", prompt: "A red door.", size: "256x256" }).withResponse();
    assert.match(data.data![0]!.url!, /^https?:\/\//);
    assert.equal((await rowOf(response)).cost_usd, "0.016000000");
  },
});

Deno.test({
  name: "openai: images.generate gives a picture that opens, in each format",
  ignore,
  async fn() {
    for (const format of ["png", "jpeg", "webp"] as const) {
      const { data } = await client().images.generate({
        model: "gpt-image-2",
        prompt: "A red door.",
        size: "1536x1024",
        output_format: format,
        quality: "low",
      });
      const report = await openPicture(Buffer.from(data![0]!.b64_json!, "base64"));
      assert.deepEqual([report.format, report.width, report.height], [
        format.toUpperCase(),
        1536,
        1024,
      ]);
    }
  },
});

Deno.test("openai: images.edit streams its partial pictures", async () => {
  const { data: stream, response } = await client().images.edit({
    model: "gpt-image-2",
    image: await toFile(given, "given.png", { type: "image/png" }),
    prompt: "Paint it green.",
    quality: "low",
    stream: true,
    partial_images: 1,
  }).withResponse();
  const types: string[] = [];
  for await (const event of stream) types.push(event.type);
  assert.deepEqual(types, ["image_edit.partial_image", "image_edit.completed"]);
  const row = await rowOf(response);
  assert.deepEqual([row.stream, row.status, row.billing_basis], [true, "completed", "reported"]);
});

/** Chat-style vendors beside vendor-b that have them. */
const others = [
  ["vendor-a", "black-forest-labs/FLUX.1-schnell"],
  ["vendor-g", "grok-imagine-image"],
] as const;

for (const [label, model] of others) {
  Deno.test(`openai: images.generate on ${label}'s own path`, async () => {
    const { data, response } = await client(`/${label}/v1`).images
      .generate({ model, prompt: "A red door.", response_format: "b64_json" }).withResponse();
    assert.ok(data.data![0]!.b64_json!.length > 100);
    const row = await rowOf(response);
    assert.deepEqual([row.vendor, row.model, row.status], [label, model, "completed"]);
    assert.ok(Number(row.cost_usd) > 0);
  });
}

Deno.test("openai: audio.speech.create on vendor-f's own path", async () => {
  const { data, response } = await client("/vendor-f/v1").audio.speech
    .create({ model: "openai/gpt-4o-mini-tts", voice: "nova", input }).withResponse();
  assert.ok((await data.arrayBuffer()).byteLength > 1000);
  assert.equal((await rowOf(response)).status, "completed");
});

Deno.test({
  name: "ai sdk: generateImage, generateSpeech, transcribe, embed and embedMany on vendor-b's path",
  ignore,
  async fn() {
    const { image } = await generateImage({
      model: sdk().image("gpt-image-2"),
      prompt: "A red door.",
      size: "1024x1024",
    });
    assert.equal(image.mediaType, "image/png");
    assert.equal((await openPicture(image.uint8Array)).format, "PNG");
    const { audio } = await generateSpeech({
      model: sdk().speech("gpt-4o-mini-tts"),
      text: input,
      voice: "nova",
      outputFormat: "wav",
    });
    assert.equal((await openSound(audio.uint8Array)).codec, "pcm_s16le");
    const { text } = await transcribe({
      model: sdk().transcription("gpt-4o-transcribe"),
      audio: Uint8Array.from(spoken),
    });
    assert.match(text, /I heard/);
    const embedding = sdk().embedding("text-embedding-3-small");
    const one = await embed({ model: embedding, value: "One text." });
    assert.equal(one.embedding.length, 1536);
    const many = await embedMany({ model: embedding, values: ["One.", "Two."] });
    assert.equal(many.embeddings.length, 2);
    assert.ok(many.usage.tokens > 0);
  },
});

Deno.test({
  name: "@google/genai: pictures and speech by generateContent on vendor-d's path",
  ignore,
  async fn() {
    const { models } = new GoogleGenAI({
      apiKey: service().key,
      httpOptions: { baseUrl: `${service().baseUrl}/vendor-d` },
    });
    const drawn = await models.generateContent({
      model: "gemini-2.5-flash-image",
      contents: "A red door.",
      config: { responseModalities: ["IMAGE"], imageConfig: { aspectRatio: "16:9" } },
    });
    const image = drawn.candidates![0]!.content!.parts!.find((part) => part.inlineData)!;
    const report = await openPicture(Buffer.from(image.inlineData!.data!, "base64"));
    assert.deepEqual([report.width, report.height], [1368, 768]);
    const said = await models.generateContent({
      model: "gemini-2.5-flash-preview-tts",
      contents: input,
      config: {
        responseModalities: ["AUDIO"],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: "Kore" } } },
      },
    });
    const { mimeType, data } = said.candidates![0]!.content!.parts![0]!.inlineData!;
    assert.match(mimeType!, /^audio\/L16;/i);
    const seconds = Buffer.from(data!, "base64").length / 48_000;
    assert.ok(Math.abs(seconds - input.length / 14) < 0.5, `${seconds} s`);
    // Without modalities the model answers with text and picture; so does a stream.
    const kinds: string[] = [];
    const model = "gemini-2.5-flash-image";
    for await (
      const { candidates } of await models.generateContentStream({ model, contents: "A" })
    ) {
      const parts = candidates?.[0]?.content?.parts ?? [];
      kinds.push(...parts.map((part) => part.inlineData?.mimeType ?? "text"));
    }
    assert.deepEqual(kinds, ["text", "image/png"]);
    const rows = await service().rows({ vendor: "vendor-d" });
    assert.equal(rows.length, 3);
    for (const row of rows) {
      assert.equal(row.status, "completed");
      assert.ok(Number(row.cost_usd) > 0.0001, String(row.model));
    }
  },
});
