import assert from "@std/assert";
import {
  bodiesOf,
  everything,
  imageAsk,
  lossesOf,
  refused,
} from "../../../../../tests/support/image_ask.ts";
import { generateImageCodec } from "./image_codec.ts";

const predicted = "imagen-4.0-generate-001";
const drawing = "gemini-3-pro-image-preview";

Deno.test("more than four pictures of a predicting model are several calls", () => {
  const { calls } = generateImageCodec.encode(imageAsk(predicted, { count: 10 }));
  assert.deepEqual(calls.map(({ path, count }) => [path, count]), [
    [`/models/${predicted}:predict`, 4],
    [`/models/${predicted}:predict`, 4],
    [`/models/${predicted}:predict`, 2],
  ]);
});

Deno.test("a predicting model gets its parameters, and a seed only without a watermark", () => {
  const ask = imageAsk(predicted, {
    ...everything,
    ratio: "16:9",
    resolution: "2K",
    format: "jpeg",
  });
  assert.deepEqual(bodiesOf(generateImageCodec, ask), [{
    instances: [{ prompt: "A lighthouse" }],
    parameters: {
      sampleCount: 1,
      aspectRatio: "16:9",
      imageSize: "2K",
      negativePrompt: "people",
      personGeneration: "dont_allow",
      outputMimeType: "image/jpeg",
      outputCompressionQuality: 80,
      seed: 7,
      addWatermark: false,
      includeRaiReason: true,
    },
  }]);
  assert.deepEqual(lossesOf(generateImageCodec, ask), [
    "background:meaning",
    "moderation:meaning",
    "quality:hint",
    "style:meaning",
    "user:hint",
  ]);
});

Deno.test("what a predicting model doesn't have is refused with what it has", () => {
  const encode = (more: Parameters<typeof imageAsk>[1], model = predicted) => () =>
    generateImageCodec.encode(imageAsk(model, more));
  refused(encode({ ratio: "3:2" }), "aspect_ratio", "1:1, 3:4, 4:3, 9:16, 16:9");
  refused(encode({ resolution: "4K" }), "resolution", "1K, 2K");
  refused(encode({ resolution: "2K" }, "imagen-4.0-fast-generate-001"), "resolution", "1K");
  refused(encode({ format: "webp" }), "output_format", "png, jpeg");
  refused(encode({ references: [{ type: "url", url: "https://x" }] }), "images");
  refused(encode({ stream: true }), "stream");
  refused(
    encode({ options: { parameters: { sampleCount: 4 } } }),
    "provider_options.parameters.sampleCount",
  );
});

Deno.test("withheld pictures are missing or say why; an empty answer is a refusal", () => {
  const picture = { bytesBase64Encoded: "aGk=", mimeType: "image/png" };
  const partly = generateImageCodec.decode({
    predictions: [picture, { raiFilteredReason: "Code 58061214" }],
  });
  assert.deepEqual(partly.images, [{ data: "aGk=" }]);
  assert.equal(partly.refusal, "Code 58061214");
  assert.equal(generateImageCodec.decode({ predictions: [picture] }).refusal, undefined);
  for (const empty of [{}, { predictions: [] }]) assert(generateImageCodec.decode(empty).refusal);
});

Deno.test("pictures of a model that speaks too are a call each", () => {
  const { calls } = generateImageCodec.encode(imageAsk(drawing, { count: 3 }));
  assert.deepEqual(
    calls.map(({ path }) => path),
    Array(3).fill(`/models/${drawing}:generateContent`),
  );
  const [body] = bodiesOf(
    generateImageCodec,
    imageAsk(drawing, {
      ratio: "21:9",
      resolution: "4K",
      seed: 7,
      references: [{ type: "base64", mimeType: "image/png", data: "aGk=" }],
    }),
  );
  assert.deepEqual(body, {
    contents: [{
      role: "user",
      parts: [
        { inlineData: { mimeType: "image/png", data: "aGk=" } },
        { text: "A lighthouse" },
      ],
    }],
    generationConfig: {
      responseModalities: ["TEXT", "IMAGE"],
      imageConfig: { aspectRatio: "21:9", imageSize: "4K" },
      seed: 7,
    },
  });
  refused(
    () => generateImageCodec.encode(imageAsk("gemini-2.5-flash-image", { resolution: "2K" })),
    "resolution",
    "1K",
  );
  refused(
    () => generateImageCodec.encode(imageAsk(drawing, { format: "jpeg" })),
    "output_format",
    "png",
  );
});

Deno.test("drafts are skipped, and usage tells the picture's tokens", () => {
  const blob = (data: string) => ({ inlineData: { mimeType: "image/png", data } });
  const answer = generateImageCodec.decode({
    candidates: [{
      content: {
        role: "model",
        parts: [{ ...blob("ZHJhZnQ="), thought: true }, { text: "Here." }, blob("aGk=")],
      },
      finishReason: "STOP",
    }],
    usageMetadata: {
      promptTokenCount: 9,
      candidatesTokenCount: 1302,
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1290 }],
    },
  });
  assert.deepEqual(answer.images, [{ data: "aGk=" }]);
  assert.equal(answer.usage?.imageOutput, 1290);
  assert.equal(answer.usage?.output, 1302);
});

Deno.test("without a list of modalities all tokens beside thoughts are the picture's", () => {
  const inlineData = { mimeType: "image/png", data: "aGk=" };
  const usageOf = (parts: object[], usage: object) =>
    generateImageCodec.decode({
      candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 9, ...usage },
    }).usage?.imageOutput;
  const tokens = { candidatesTokenCount: 1290, thoughtsTokenCount: 40 };
  assert.equal(usageOf([{ inlineData }], tokens), 1290);
  assert.equal(usageOf([{ text: "No." }], tokens), undefined);
});

Deno.test("a withheld picture is a refusal, one that wasn't drawn a failure", () => {
  const candidate = (finishReason: string) => ({ candidates: [{ finishReason, index: 0 }] });
  for (const reason of ["IMAGE_SAFETY", "PROHIBITED_CONTENT", "IMAGE_RECITATION", "SAFETY"]) {
    assert.equal(generateImageCodec.decode(candidate(reason)).refusal, reason);
  }
  for (const reason of ["NO_IMAGE", "STOP", "OTHER"]) {
    const { refusal, failure } = generateImageCodec.decode(candidate(reason));
    assert.equal(refusal, undefined);
    assert(failure?.includes(reason));
  }
  assert(
    generateImageCodec.decode({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }).refusal,
  );
});
