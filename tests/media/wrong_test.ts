import assert from "@std/assert";
import { shared, startSimulatedService } from "../support/service.ts";

const service = shared(() => startSimulatedService({}, { database: "any" }));

interface Wrong {
  body: unknown;
  status?: number;
  code?: string;
  param: string | null;
  /** What the message must name. */
  words?: readonly string[];
}

const image = { provider: "vendor-b", prompt: "A boat" };
const vendorsThatDraw = ["vendor-a", "vendor-b", "openai", "vendor-d", "vendor-f", "vendor-g"];

/** What a vendor's options may not ask of it under the service's own key. */
const hostedOptions: readonly [options: Record<string, unknown>, path: string][] = [
  [{ cachedContent: "cachedContents/of-another" }, "cachedContent"],
  [{ cached_content: "cachedContents/of-another" }, "cached_content"],
  [{ tools: [{ googleSearch: {} }] }, "tools[0].googleSearch"],
  [{ tools: [{ file_search: {} }] }, "tools[0].file_search"],
  [{ serviceTier: "priority" }, "serviceTier"],
  [
    { systemInstruction: { parts: [{ fileData: { fileUri: "files/of-another" } }] } },
    "systemInstruction.parts[0].fileData.fileUri",
  ],
];

/** Options that would go on to the vendor with the rest of the body. */
const wrongOptions = (body: Record<string, unknown>): Wrong[] => [
  ...hostedOptions.map(([options, path]): Wrong => ({
    body: { ...body, provider_options: { google: options } },
    code: "unsupported_parameter",
    param: `provider_options.${path}`,
    words: ["own key"],
  })),
  {
    body: { ...body, provider_options: { google: { generation_config: { candidate_count: 8 } } } },
    param: "provider_options.generationConfig.candidateCount",
  },
];

const wrongImages: readonly Wrong[] = [
  { body: {}, code: "missing_required_field", param: "prompt" },
  { body: { prompt: "x" }, code: "missing_required_field", param: "provider" },
  { body: { ...image, prompt: "  " }, param: "prompt" },
  { body: { ...image, prompt: "/// APP shop\n \n" }, param: "prompt", words: ["only tag lines"] },
  { body: { ...image, prompt: "x".repeat(32_001) }, param: "prompt", words: ["32000"] },
  { body: { ...image, provider: "vendor-z" }, param: "provider", words: vendorsThatDraw },
  { body: { ...image, provider: "vendor-c" }, param: "provider", words: vendorsThatDraw },
  { body: { prompt: "x", model: "vendor-c/claude" }, param: "model", words: vendorsThatDraw },
  {
    body: { ...image, model: "google/imagen-4.0-generate-001" },
    param: "provider",
    words: ["vendor-d"],
  },
  {
    body: { ...image, model: "gpt-5-mini" },
    status: 404,
    code: "model_not_found",
    param: "model",
    words: ["gpt-image-2", "dall-e-3"],
  },
  {
    body: { ...image, model: "gpt-image-99" },
    status: 404,
    code: "model_not_found",
    param: "model",
  },
  { body: { ...image, n: 0 }, param: "n", words: ["1"] },
  { body: { ...image, n: 11 }, param: "n", words: ["10"] },
  { body: { ...image, n: 1.5 }, param: "n" },
  { body: { ...image, n: "2" }, param: "n" },
  ...["big", "7x7", "1024×1024", "-1x5", "0x0", "99999x1"].flatMap((size): Wrong[] => [
    { body: { ...image, size }, param: "size", words: ["auto", "1024x1024", "3840x2160"] },
    { body: { ...image, model: "dall-e-2", size }, param: "size", words: ["256x256"] },
    { body: { ...image, provider: "xai", size: `${size}z` }, param: "size", words: ["19.5:9"] },
  ]),
  ...["vendor-a", "vendor-f"].map((provider): Wrong => ({
    body: { ...image, provider, size: "big" },
    param: "size",
    words: ["auto", "1024x1024"],
  })),
  ...["vendor-d", "vendor-e", "xai"].map((provider): Wrong => ({
    body: { ...image, provider, size: "big" },
    param: "size",
    words: ["1:1", "16:9"],
  })),
  {
    body: { ...image, model: "gpt-image-1.5", size: "512x512" },
    param: "size",
    words: ["auto", "1024x1024", "1536x1024", "1024x1536"],
  },
  {
    body: { ...image, model: "dall-e-3", size: "256x256" },
    param: "size",
    words: ["1792x1024"],
  },
  { body: { ...image, provider: "vendor-d", size: "1000x900" }, param: "size", words: ["16:9"] },
  {
    body: { ...image, provider: "xai", aspect_ratio: "5:4" },
    param: "aspect_ratio",
    words: ["20:9"],
  },
  { body: { ...image, aspect_ratio: "wide" }, param: "aspect_ratio", words: ["16:9"] },
  { body: { ...image, size: "1024x1024", aspect_ratio: "16:9" }, param: "aspect_ratio" },
  { body: { ...image, resolution: "8K" }, param: "resolution", words: ["1K", "2K", "4K"] },
  { body: { ...image, quality: "best" }, param: "quality", words: ["auto", "low", "high"] },
  { body: { ...image, output_format: "gif" }, param: "output_format", words: ["png", "webp"] },
  {
    body: { ...image, provider: "vendor-d", output_format: "webp" },
    param: "output_format",
    words: ["png"],
  },
  { body: { ...image, response_format: "b64" }, param: "response_format", words: ["url"] },
  { body: { ...image, output_compression: 101 }, param: "output_compression", words: ["100"] },
  { body: { ...image, seed: 1 }, code: "unsupported_parameter", param: "seed" },
  { body: { ...image, provider: "xai", seed: 1 }, code: "unsupported_parameter", param: "seed" },
  { body: { ...image, style: "vivid" }, code: "unsupported_parameter", param: "style" },
  { body: { ...image, provider: "vendor-d", stream: true }, param: "stream", words: ["gpt-image"] },
  { body: { ...image, model: "dall-e-3", stream: true }, param: "stream" },
  { body: { ...image, images: ["picture.png"] }, param: "images[0]", words: ["data:"] },
  { body: { ...image, images: ["data:text/plain;base64,aGk="] }, param: "images[0]" },
  { body: { ...image, images: ["https://127.0.0.1:1/a.png"] }, param: "images[0]" },
  { body: { ...image, images: [] }, param: "images" },
  { body: { ...image, width: 3 }, param: "width", words: ["unknown field"] },
  { body: { ...image, provider_options: { nobody: {} } }, param: "provider_options" },
  { body: { ...image, provider_options: { openai: { n: 9 } } }, param: "provider_options.n" },
  ...wrongOptions({ model: "google/gemini-2.5-flash-image", prompt: "x" }),
  {
    body: {
      ...{ model: "google/imagen-4.0-generate-001", prompt: "x" },
      provider_options: { google: { parameters: { sampleImageSize: "2K" } } },
    },
    param: "provider_options.parameters.sampleImageSize",
  },
  { body: "[]", param: null },
  { body: "{", code: "invalid_json", param: null },
];

const speech = { provider: "vendor-b", input: "Hello" };
const wrongSpeech: readonly Wrong[] = [
  { body: { provider: "vendor-b" }, code: "missing_required_field", param: "input" },
  { body: { input: "x" }, code: "missing_required_field", param: "provider" },
  { body: { ...speech, input: " \n" }, param: "input" },
  {
    body: { provider: "vendor-b", text: "/// APP shop" },
    param: "text",
    words: ["only tag lines"],
  },
  { body: { ...speech, text: "other" }, param: "text" },
  { body: { ...speech, input: "x".repeat(4097) }, param: "input", words: ["4096"] },
  { body: { provider: "xai", input: "x".repeat(15_001) }, param: "input", words: ["15000"] },
  {
    body: { ...speech, provider: "vendor-a" },
    param: "provider",
    words: ["vendor-b", "vendor-d", "vendor-f", "vendor-g"],
  },
  { body: { ...speech, provider: 7 }, param: "provider" },
  { body: { ...speech, voice: "bob" }, param: "voice", words: ["alloy", "verse"] },
  { body: { ...speech, provider: "vendor-d", voice: "alloy" }, param: "voice", words: ["Kore"] },
  {
    body: { ...speech, provider: "vendor-g", voice: "bob" },
    code: "invalid_request",
    param: null,
    words: ["eve"],
  },
  { body: { ...speech, voice: {} }, code: "missing_required_field", param: "voice.id" },
  {
    body: { ...speech, response_format: "ogg" },
    param: "response_format",
    words: ["mp3", "opus", "aac", "flac", "wav", "pcm"],
  },
  {
    body: { ...speech, provider: "vendor-d", response_format: "mp3" },
    param: "response_format",
    words: ["wav", "pcm"],
  },
  {
    body: { ...speech, provider: "xai", response_format: "opus" },
    param: "response_format",
    words: ["mp3"],
  },
  { body: { ...speech, speed: 5 }, param: "speed", words: ["4"] },
  {
    body: { ...speech, provider: "vendor-d", speed: 2 },
    code: "unsupported_parameter",
    param: "speed",
  },
  {
    body: { ...speech, model: "tts-1", instructions: "x" },
    code: "unsupported_parameter",
    param: "instructions",
  },
  { body: { ...speech, language: "german!" }, param: "language", words: ["BCP-47"] },
  { body: { ...speech, language: "de" }, code: "unsupported_parameter", param: "language" },
  { body: { ...speech, sample_rate: 1 }, param: "sample_rate" },
  { body: { ...speech, encoding: "hex" }, param: "encoding", words: ["base64", "binary"] },
  { body: { ...speech, speakers: [] }, param: "speakers" },
  {
    body: { ...speech, speakers: [{ speaker: "A", voice: "alloy" }] },
    code: "unsupported_parameter",
    param: "speakers",
    words: ["vendor-d"],
  },
  {
    body: { ...speech, model: "gpt-4.1" },
    status: 404,
    code: "model_not_found",
    param: "model",
    words: ["tts-1"],
  },
  ...["vendor-d", "vendor-e"].flatMap((provider): Wrong[] => [
    { body: { ...speech, provider, voice: "bob" }, param: "voice", words: ["Kore", "Puck"] },
    { body: { provider, input: "x".repeat(32_001) }, param: "input", words: ["32000"] },
  ]),
  {
    body: { ...speech, provider: "vendor-f", response_format: "flac" },
    param: "response_format",
    words: ["mp3", "pcm"],
  },
  { body: { ...speech, provider: "vendor-d", sample_rate: 8000 }, param: "sample_rate" },
  ...wrongOptions({ provider: "vendor-d", input: "x" }),
  { body: { ...speech, tone: "low" }, param: "tone", words: ["unknown field"] },
];

for (
  const [path, table] of [
    ["/imagen/v1/generate", wrongImages],
    ["/tts/v1/generate", wrongSpeech],
  ] as const
) {
  for (const { body, status = 400, code = "invalid_value", param, words = [] } of table) {
    const shown = JSON.stringify(body).slice(0, 90);
    Deno.test(`${path} refuses ${shown} and says what is allowed`, async () => {
      const answer = await service().post(path, body);
      const { error } = await answer.json() as {
        error: { message: string; code: string; param: string | null };
      };
      assert.deepEqual(
        [answer.status, error.code, error.param],
        [status, code, param],
        error.message,
      );
      for (const word of words) assert(error.message.includes(word), `${word}: ${error.message}`);
    });
  }
}

Deno.test("what a lenient caller asks for in vain is dropped and named", async () => {
  const answer = await service().post("/imagen/v1/generate", {
    ...image,
    seed: 7,
    style: "vivid",
  }, { "x-translation-mode": "lenient" });
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(answer.headers.get("x-translation-loss"), "style,seed");
  const row = await service().row(answer.headers.get("x-transaction-id"));
  assert.deepEqual(row.translation_loss, ["style", "seed"]);
});

Deno.test("nothing is recorded and no vendor is called for a request that is wrong", async () => {
  const before = (await service().rows()).length;
  const answer = await service().post("/imagen/v1/generate", { ...image, size: "1x1" });
  assert.equal(answer.status, 400);
  assert.equal(answer.headers.get("x-transaction-id"), null);
  await answer.body?.cancel();
  assert.equal((await service().rows()).length, before);
});
