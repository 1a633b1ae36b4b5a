import { z } from "@hono/zod-openapi";
import { callErrors } from "../kernel/call_errors.ts";
import { maxEntries, openObject, optional, upTo } from "../kernel/common.ts";
import { defineContract } from "../kernel/contract.ts";
import { generateMethod } from "./generate_method.ts";
import { type MethodKind, type PathPrefix, summaryOf } from "./vendors.ts";

const ownModel = optional(z.string()).describe(
  "The model again, as `models/<name>`; must be the one in the path.",
);

const embedded = openObject({
  parts: optional(z.array(openObject({})).max(maxEntries.parts)).describe(
    "Text, or inline data where the model takes it.",
  ),
}).openapi("EmbedContent");

const embedRequest = openObject({
  model: ownModel,
  content: embedded.describe("What to embed."),
  outputDimensionality: optional(z.number().int().min(1)).describe(
    "Length of the vector, where the model can shorten it. Default the model's own.",
  ),
}).openapi("EmbedContentRequest");

/** The most texts in one request; the vendor refuses more. */
const maxTexts = 100;

const batchEmbedRequest = openObject({
  requests: z.array(embedRequest).min(1).max(maxTexts).describe(
    `At most ${maxTexts}, the vendor's limit.`,
  ),
}).openapi("BatchEmbedContentsRequest");

const vector = z.looseObject({
  values: z.array(z.number()).optional().describe("The vector."),
}).openapi("ContentEmbedding");

const usage = z.looseObject({
  promptTokenCount: z.number().int().optional().describe("Tokens of the whole request."),
}).optional().describe("Tokens used, if the model reports them.");

const embedAnswer = z.looseObject({
  embedding: vector.describe("The vector."),
  usageMetadata: usage,
}).openapi("EmbedContentAnswer");

const batchEmbedAnswer = z.looseObject({
  embeddings: z.array(vector).describe("A vector for each request, in their order."),
  usageMetadata: usage,
}).openapi("BatchEmbedContentsAnswer");

/** The most pictures of one request: twice what any model of the vendor makes. */
const maxPictures = 8;

const predictRequest = openObject({
  instances: z.array(openObject({
    prompt: optional(z.string()).describe("What the image should show."),
  })).min(1).max(maxPictures).describe("The prompt; the vendor's models take exactly one."),
  parameters: optional(openObject({
    sampleCount: optional(z.union([z.number().int().min(1).max(maxPictures), z.string()]))
      .describe("How many images. Default: the model's."),
    imageSize: optional(z.string()).describe("`1K` or `2K`. Default `1K`."),
  })).describe("Image settings; every field is passed on unchanged."),
  labels: upTo(maxEntries.others).optional().describe(
    "Labels for the vendor's own billing reports.",
  ),
}).openapi("PredictRequest");

const predictAnswer = z.looseObject({
  predictions: z.array(z.looseObject({
    bytesBase64Encoded: z.string().optional().describe("The image."),
    mimeType: z.string().optional().describe("Media type, such as `image/png`."),
    raiFilteredReason: z.string().optional().describe("Why an image was withheld."),
  })).optional().describe("One entry per image; absent if all were withheld."),
}).openapi("PredictAnswer");

/**
 * `:predict` (pictures, by models that make nothing else), `:embedContent` and
 * `:batchEmbedContents` (vectors of one or several contents).
 */
export function methodContracts(prefix: PathPrefix) {
  const method = (name: MethodKind, what: string) => ({
    ...generateMethod(prefix, name),
    summary: summaryOf(what, prefix),
    description: "The request is forwarded unchanged, and so is the answer.",
    interaction: true,
    errors: callErrors,
  });
  return {
    predict: defineContract({
      ...method("predict", "Generate images with Imagen"),
      body: predictRequest,
      answer: predictAnswer,
    }),
    embedContent: defineContract({
      ...method("embedContent", "Embed content"),
      body: embedRequest,
      answer: embedAnswer,
    }),
    batchEmbedContents: defineContract({
      ...method("batchEmbedContents", "Embed contents in a batch"),
      body: batchEmbedRequest,
      answer: batchEmbedAnswer,
    }),
  };
}
