import { z } from "@hono/zod-openapi";
import { callErrors } from "../kernel/call_errors.ts";
import { maxEntries, openObject, optional, upTo } from "../kernel/common.ts";
import { defineContract } from "../kernel/contract.ts";
import { generateMethod } from "./generate_method.ts";
import { type MethodKind, type PathPrefix, summaryOf } from "./vendors.ts";

const ownModel = optional(z.string()).describe(
  "The model once more, as `models/<name>`; the one of the path.",
);

const embedded = openObject({
  parts: optional(z.array(openObject({})).max(maxEntries.parts)).describe(
    "Text, or inline data where the model takes it.",
  ),
}).openapi("EmbedContent");

const embedRequest = openObject({
  model: ownModel,
  content: embedded.describe("What the vector is made of."),
  outputDimensionality: optional(z.number().int().min(1)).describe(
    "Length of the vector, where the model can shorten it. Default the model's own.",
  ),
}).openapi("EmbedContentRequest");

/** The most texts in one request; the vendor refuses more. */
const maxTexts = 100;

const batchEmbedRequest = openObject({
  requests: z.array(embedRequest).min(1).max(maxTexts).describe(
    `At most ${maxTexts}, which is what the vendor takes.`,
  ),
}).openapi("BatchEmbedContentsRequest");

const vector = z.looseObject({
  values: z.array(z.number()).optional().describe("The vector."),
}).openapi("ContentEmbedding");

const usage = z.looseObject({
  promptTokenCount: z.number().int().optional().describe("Tokens of the whole request."),
}).optional().describe("What was counted, where the model counts.");

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
    prompt: optional(z.string()).describe("What the picture is to show."),
  })).min(1).max(maxPictures).describe("One prompt is what the vendor's models take."),
  parameters: optional(openObject({
    sampleCount: optional(z.union([z.number().int().min(1).max(maxPictures), z.string()]))
      .describe("How many pictures. Default what the model makes unasked."),
    imageSize: optional(z.string()).describe("`1K` or `2K`. Default `1K`."),
  })).describe("How it is to be drawn; every field goes on as it is."),
  labels: upTo(maxEntries.others).optional().describe("Labels of the vendor's own accounting."),
}).openapi("PredictRequest");

const predictAnswer = z.looseObject({
  predictions: z.array(z.looseObject({
    bytesBase64Encoded: z.string().optional().describe("The picture."),
    mimeType: z.string().optional().describe("What it is, such as `image/png`."),
    raiFilteredReason: z.string().optional().describe("Why a picture was withheld."),
  })).optional().describe("A picture each; missing where all were withheld."),
}).openapi("PredictAnswer");

/**
 * `:predict` (pictures, by models that make nothing else), `:embedContent` and
 * `:batchEmbedContents` (vectors of one or several contents).
 */
export function methodContracts(prefix: PathPrefix) {
  const method = (name: MethodKind, what: string) => ({
    ...generateMethod(prefix, name),
    summary: summaryOf(what, prefix),
    description: "Goes on as it was written, and its answer comes back as it is.",
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
