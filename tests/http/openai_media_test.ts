import assert from "@std/assert";
import { Buffer } from "node:buffer";
import OpenAI, { toFile } from "openai";
import { smallPictureUrl } from "../../contracts/examples/media.ts";
import { sha256Hex } from "../../src/base/hash.ts";
import { picture, sound } from "../../demo/simulator/samples/mod.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { openai } from "../support/service_openai.ts";

const service = shared(() => startSimulatedService());
const client = (path = "/vendor-b/v1") => openai(service(), path, { maxRetries: 0 });

const vendorKey = () => service().simulators.vendors["vendor-b"].apiKey;

interface Named {
  sha256: string;
  bytes: number;
  mime_type: string;
  url: string;
}

const rowOf = (response: Response) => service().row(response.headers.get("x-transaction-id"));

async function stored(named: Named): Promise<Buffer> {
  const answer = await service().fetch(named.url);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), named.mime_type);
  return Buffer.from(await answer.arrayBuffer());
}

Deno.test("images.generate: whole, priced by its tokens, its picture stored by hash", async () => {
  const { data, response } = await client().images.generate({
    model: "openai/gpt-image-2",
    prompt: "/// APP atelier\nA red door. [bytes:300000]",
    quality: "low",
    user: "ada",
  }).withResponse();
  const picture = Buffer.from(data.data![0]!.b64_json!, "base64");
  const row = await rowOf(response);
  const { dialect, vendor, model, requested_model, status, app, user_id, endpoint } = row;
  assert.deepEqual(
    { dialect, vendor, model, requested_model, status, app, user_id, endpoint },
    {
      dialect: "images",
      vendor: "vendor-b",
      model: "gpt-image-2",
      requested_model: "openai/gpt-image-2",
      status: "completed",
      app: "atelier",
      user_id: "ada",
      endpoint: "/vendor-b/v1/images/generations",
    },
  );
  assert.equal(row.billing_basis, "reported");
  assert.deepEqual(row.usage_raw, data.usage);
  // Text in 5, images out 30 USD a million.
  const { input_tokens, output_tokens } = data.usage!;
  const nanos = input_tokens * 5000 + output_tokens * 30_000;
  assert.equal(row.cost_usd, (nanos / 1e9).toFixed(9));
  assert.equal(row.charged_usd, row.cost_usd);
  const kept = row.response as { data: { b64_json: Named }[] };
  const named = kept.data[0]!.b64_json;
  assert.deepEqual([named.sha256, named.mime_type], [sha256Hex(picture), "image/png"]);
  assert.deepEqual(await stored(named), picture);
  const sent = service().simulators.requests("vendor-b").at(-1)!;
  assert.deepEqual(sent.body, {
    model: "gpt-image-2",
    prompt: "A red door. [bytes:300000]",
    quality: "low",
    user: "ada",
  });
});

Deno.test("images.generate: dall-e-3 is priced by picture, quality and size", async () => {
  const { data, response } = await client("/openai/v1").images.generate({
    model: "dall-e-3",
    prompt: "A blue door.",
    quality: "hd",
    size: "1792x1024",
    response_format: "b64_json",
  }).withResponse();
  assert.ok(data.data![0]!.revised_prompt);
  const row = await rowOf(response);
  assert.equal(row.cost_usd, "0.120000000");
  assert.equal(row.billing_basis, "reported");
});

Deno.test("images.generate: what a request leaves to dall-e is priced at the vendor's defaults", async () => {
  const asked = [
    [{ model: "dall-e-3" }, "0.040000000"],
    [{ model: "openai/dall-e-3", quality: "hd" }, "0.080000000"],
    [{ model: "dall-e-3", size: "1024x1792" }, "0.080000000"],
    [{ model: "dall-e-2" }, "0.020000000"],
  ] as const;
  for (const [fields, cost] of asked) {
    const { response } = await client().images
      .generate({ ...fields, prompt: "A blue door." }).withResponse();
    assert.equal((await rowOf(response)).cost_usd, cost, JSON.stringify(fields));
  }
});

Deno.test("images.generate: partial pictures are streamed; the record has the last one", async () => {
  const { data: stream, response } = await client().images.generate({
    model: "gpt-image-2",
    prompt: "A green door. [bytes:200000]",
    stream: true,
    partial_images: 2,
  }).withResponse();
  const events = [];
  for await (const event of stream) events.push(event);
  assert.deepEqual(events.map(({ type }) => type), [
    "image_generation.partial_image",
    "image_generation.partial_image",
    "image_generation.completed",
  ]);
  const last = events.at(-1) as OpenAI.ImageGenCompletedEvent;
  const row = await rowOf(response);
  assert.equal(row.stream, true);
  assert.equal(row.status, "completed");
  assert.deepEqual(row.usage_raw, last.usage);
  const kept = row.response as { size: string; data: { b64_json: Named }[] };
  assert.equal(kept.size, "1024x1024");
  assert.equal(
    kept.data[0]!.b64_json.sha256,
    sha256Hex(Buffer.from(last.b64_json, "base64")),
  );
});

Deno.test("images.generate: a stream that ends with fewer pictures than asked for is whole", async () => {
  // The simulated vendor streams one, whatever `n` is.
  const { data: stream, response } = await client().images.generate({
    model: "gpt-image-2",
    prompt: "Four doors.",
    stream: true,
    n: 4,
  }).withResponse();
  const types = [];
  for await (const event of stream) types.push(event.type);
  assert.deepEqual(types, ["image_generation.completed"]);
  assert.equal((await rowOf(response)).status, "completed");
});

Deno.test("images.generate: an SVG needs a vendor key of the caller's own, since another model writes it", async () => {
  const request = { model: "gpt-image-2", prompt: "A red door." };
  const own = { headers: { authorization: `Bearer ${service().key};${vendorKey()}` } };
  const refused = async (work: Promise<unknown>, param: string) => {
    const error = await work.then(
      () => undefined,
      (thrown) => thrown as InstanceType<typeof OpenAI.APIError>,
    );
    assert.deepEqual([error?.status, error?.code, error?.param], [
      400,
      "unsupported_parameter",
      param,
    ]);
  };
  const unified = (options: unknown) =>
    client("/imagen/v1").post("/generate", {
      body: { ...request, model: "openai/gpt-image-2", provider_options: { openai: options } },
    });
  await refused(client().images.generate({ ...request, output_format: "svg" }), "output_format");
  await refused(client().images.generate({ ...request, svg: { model: "gpt-5.4" } }), "svg");
  await refused(unified({ output_format: "svg" }), "provider_options.output_format");
  await refused(unified({ svg: { model: "gpt-5.4" } }), "provider_options.svg");
  const before = service().simulators.requests("vendor-b").length;
  // The simulated vendor draws none.
  const asked = client().images.generate({ ...request, output_format: "svg" }, own);
  await assert.rejects(asked, { code: "invalid_request" });
  assert.equal(service().simulators.requests("vendor-b").length, before + 1);
});

Deno.test("images.edit: pictures within JSON reach the vendor too", async () => {
  const body = {
    model: "gpt-image-2",
    prompt: "A green door.",
    images: [{ image_url: smallPictureUrl }],
  };
  const edited = await client().post("/images/edits", { body }) as OpenAI.ImagesResponse;
  assert.equal(edited.data?.length, 1);
  assert.equal(edited.usage?.input_tokens_details?.image_tokens, 323);
});

Deno.test("images.edit: the form's files reach the vendor byte for byte and are stored", async () => {
  const given = picture({
    format: "png",
    width: 64,
    height: 64,
    subject: "given",
    minBytes: 150_000,
  });
  const { data, response } = await client().images.edit({
    model: "vendor-b/gpt-image-2",
    image: [
      await toFile(given, "given.png", { type: "image/png" }),
      await toFile(picture({ format: "png", width: 8, height: 8, subject: "b" }), "b.png", {
        type: "image/png",
      }),
    ],
    prompt: "Paint it green.",
    n: 2,
  }).withResponse();
  assert.equal(data.data!.length, 2);
  const row = await rowOf(response);
  assert.equal(row.model, "gpt-image-2");
  const { input_tokens, input_tokens_details: { text_tokens, image_tokens }, output_tokens } = data
    .usage!;
  assert.equal(input_tokens, text_tokens + image_tokens);
  const nanos = text_tokens * 5000 + image_tokens * 8000 + output_tokens * 30_000;
  assert.equal(row.cost_usd, (nanos / 1e9).toFixed(9));
  const request = row.request as Record<string, unknown> & {
    "image[]": { filename: string; content_type: string; data: Named }[];
  };
  assert.deepEqual([request.model, request.prompt, request.n], [
    "vendor-b/gpt-image-2",
    "Paint it green.",
    "2",
  ]);
  assert.equal(request["image[]"].length, 2);
  assert.equal(request["image[]"][0]!.data.sha256, sha256Hex(given));
  assert.deepEqual(await stored(request["image[]"][0]!.data), Buffer.from(given));
  const sent = service().simulators.requests("vendor-b").at(-1)!;
  const form = await new Response(sent.body as Uint8Array<ArrayBuffer>, {
    headers: { "content-type": sent.headers["content-type"]! },
  }).formData();
  assert.equal(form.get("model"), "gpt-image-2");
  const first = form.getAll("image[]")[0] as File;
  assert.deepEqual(await first.bytes(), given);
  assert.equal(Number(sent.headers["content-length"]), (sent.body as Uint8Array).length);
});

Deno.test("audio.speech.create: sound as it comes, by character or by its length", async () => {
  const input = "/// FLOW greeting\nGood morning, dear listeners of the early programme.";
  const said = input.slice(input.indexOf("\n") + 1);
  const old = await client().audio.speech
    .create({ model: "tts-1", voice: "alloy", input, response_format: "wav" }).withResponse();
  const sound = Buffer.from(await old.data.arrayBuffer());
  assert.equal(old.response.headers.get("content-type"), "audio/wav");
  assert.equal(sound.toString("latin1", 0, 4), "RIFF");
  const row = await rowOf(old.response);
  assert.equal(row.flow, "greeting");
  assert.equal(row.dialect, "speech");
  // 15 USD a million characters.
  assert.equal(row.cost_usd, (said.length * 15_000 / 1e9).toFixed(9));
  const kept = row.response as { content_type: string; bytes: number; data: Named };
  assert.equal(kept.bytes, sound.length);
  assert.equal(kept.data.sha256, sha256Hex(sound));
  assert.deepEqual(await stored(kept.data), sound);

  const fresh = await client("/openai/v1").audio.speech
    .create({ model: "gpt-4o-mini-tts", voice: "coral", input: said, response_format: "pcm" })
    .withResponse();
  const bytes = (await fresh.data.arrayBuffer()).byteLength;
  const counted = await rowOf(fresh.response);
  assert.equal(counted.billing_basis, "estimated");
  assert.equal(counted.output_tokens, Math.ceil(bytes / 48_000 * 1250 / 60));
});

Deno.test("audio.speech.create: events tell the usage; the record has the sound in one", async () => {
  const { data, response } = await client().audio.speech.create({
    model: "gpt-4o-mini-tts",
    voice: "coral",
    input: "Good morning. [long:9]",
    stream_format: "sse",
  }).withResponse();
  const events = (await data.text()).split("\n\n").filter(Boolean)
    .map((event) => JSON.parse(event.slice(event.indexOf("data: ") + 6)));
  const sound = Buffer.concat(
    events.filter(({ type }) => type === "speech.audio.delta")
      .map(({ audio }) => Buffer.from(audio, "base64")),
  );
  const done = events.at(-1);
  const row = await rowOf(response);
  assert.deepEqual(row.usage_raw, done.usage);
  assert.equal(row.billing_basis, "reported");
  const nanos = done.usage.input_tokens * 600 + done.usage.output_tokens * 12_000;
  assert.equal(row.cost_usd, (nanos / 1e9).toFixed(9));
  const kept = row.response as { data: Named };
  assert.equal(kept.data.sha256, sha256Hex(sound));
});

Deno.test("audio.transcriptions.create: a file as a form, whole, as text and streamed", async () => {
  const words = sound("wav", 3, "hello");
  const file = () => toFile(words, "words.wav", { type: "audio/wav" });
  const whole = await client().audio.transcriptions
    .create({ file: await file(), model: "openai/gpt-4o-transcribe" }).withResponse();
  assert.match(whole.data.text, /words\.wav, 144044 bytes/);
  const usage = whole.data.usage as OpenAI.Audio.Transcription.Tokens;
  const row = await rowOf(whole.response);
  assert.equal(row.dialect, "transcriptions");
  assert.deepEqual(row.usage_raw, usage);
  const nanos = usage.input_token_details!.audio_tokens! * 6000 +
    usage.input_token_details!.text_tokens! * 2500 + usage.output_tokens * 10_000;
  assert.equal(row.cost_usd, (nanos / 1e9).toFixed(9));
  const request = row.request as { file: { filename: string; data: Named } };
  assert.equal(request.file.data.sha256, sha256Hex(words));

  const old = await client().audio.transcriptions
    .create({ file: await file(), model: "whisper-1", response_format: "srt" }).withResponse();
  assert.match(String(old.data), /-->/);
  const timed = await rowOf(old.response);
  // The answer doesn't say how long: the file does. 0.006 USD a minute.
  assert.equal(timed.cost_usd, "0.000300000");
  assert.equal(timed.response, String(old.data));

  const streamed = await client().audio.transcriptions
    .create({ file: await file(), model: "gpt-4o-mini-transcribe", stream: true }).withResponse();
  let text = "";
  for await (const event of streamed.data) {
    if (event.type === "transcript.text.delta") text += event.delta;
  }
  const kept = await rowOf(streamed.response);
  assert.equal((kept.response as { text: string }).text, text);
  assert.equal(kept.billing_basis, "reported");
  assert.equal(kept.stream, true);
});

Deno.test("audio.translations.create: English words, recorded and paid like a transcript", async () => {
  const words = sound("wav", 3, "hello");
  const file = () => toFile(words, "words.wav", { type: "audio/wav" });
  const plain = await client().audio.translations
    .create({ file: await file(), model: "openai/whisper-1" }).withResponse();
  assert.match(plain.data.text, /in English.*words\.wav, 144044 bytes/);
  const row = await rowOf(plain.response);
  assert.deepEqual([row.dialect, row.endpoint], [
    "transcriptions",
    "/vendor-b/v1/audio/translations",
  ]);
  // The answer doesn't say how long: the file does. 0.006 USD a minute.
  assert.deepEqual([row.billing_basis, row.cost_usd], ["estimated", "0.000300000"]);
  const request = row.request as { file: { data: Named } };
  assert.equal(request.file.data.sha256, sha256Hex(words));

  const timed = await client().audio.translations
    .create({ file: await file(), model: "whisper-1", response_format: "verbose_json" })
    .withResponse();
  const verbose = timed.data as unknown as OpenAI.Audio.TranslationVerbose & { task: string };
  const { duration, task } = verbose;
  assert.equal(task, "translate");
  const reported = await rowOf(timed.response);
  assert.equal(reported.billing_basis, "reported");
  assert.equal(reported.cost_usd, (duration * 0.0001).toFixed(9));
});

Deno.test("embeddings.create: numbers and base64, on the family and on the unified path", async () => {
  const input = ["one two three", "four"];
  const plain = await client().embeddings
    .create({ model: "text-embedding-3-small", input, encoding_format: "float" }).withResponse();
  const packed = await client("/chat/v1").embeddings
    .create({ model: "openai/text-embedding-3-small", input }).withResponse();
  assert.equal(plain.data.data.length, 2);
  for (const [index, { embedding }] of plain.data.data.entries()) {
    assert.deepEqual(packed.data.data[index]!.embedding, [...Float32Array.from(embedding)]);
  }
  for (const { data, response } of [plain, packed]) {
    const row = await rowOf(response);
    assert.equal(row.dialect, "embeddings");
    assert.equal(row.input_tokens, data.usage.prompt_tokens);
    assert.equal(row.cost_usd, (data.usage.prompt_tokens * 20 / 1e9).toFixed(9));
    assert.equal(row.billing_basis, "reported");
  }
});
