import { z } from "@hono/zod-openapi";
import { callErrors } from "../kernel/call_errors.ts";
import { mostOf, openObject, optional, upTo } from "../kernel/common.ts";
import { defineContract } from "../kernel/contract.ts";
import { generateMethod, type GeneratePrefix } from "./generate_method.ts";
import type { VendorFamily } from "./vendors.ts";

const ownModel = optional(z.string()).describe(
  "The model once more, as `models/<name>`; the one of the path.",
);

const embedded = openObject({
  parts: optional(z.array(openObject({})).max(mostOf.parts)).describe(
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

/** What the vendor takes in one request; it refuses more. */
const mostTexts = 100;

const batchEmbedRequest = openObject({
  requests: z.array(embedRequest).min(1).max(mostTexts).describe(
    `At most ${mostTexts}, which is what the vendor takes.`,
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

/** Of one request, twice what any model of the vendor makes. */
const mostPictures = 8;

const predictRequest = openObject({
  instances: z.array(openObject({
    prompt: optional(z.string()).describe("What the picture is to show."),
  })).min(1).max(mostPictures).describe("One prompt is what the vendor's models take."),
  parameters: optional(openObject({
    sampleCount: optional(z.union([z.number().int().min(1).max(mostPictures), z.string()]))
      .describe("How many pictures. Default what the model makes unasked."),
    imageSize: optional(z.string()).describe("`1K` or `2K`. Default `1K`."),
  })).describe("How it is to be drawn; every field goes on as it is."),
  labels: upTo(mostOf.others).optional().describe("Labels of the vendor's own accounting."),
}).openapi("PredictRequest");

const predictAnswer = z.looseObject({
  predictions: z.array(z.looseObject({
    bytesBase64Encoded: z.string().optional().describe("The picture."),
    mimeType: z.string().optional().describe("What it is, such as `image/png`."),
    raiFilteredReason: z.string().optional().describe("Why a picture was withheld."),
  })).optional().describe("A picture each; missing where all were withheld."),
}).openapi("PredictAnswer");

const description = "Goes on as it was written, and its answer comes back as it is.";

/** `:predict`: pictures of the models that only draw. */
export function familyPredict(family: VendorFamily) {
  return predict(prefixOf(family), `Generate images (${family.name})`);
}

/** `:embedContent`: the vector of one content. */
export function familyEmbedContent(family: VendorFamily) {
  return embedContent(prefixOf(family), `Embed one content (${family.name})`);
}

/** `:batchEmbedContents`: the vectors of several. */
export function familyBatchEmbedContents(family: VendorFamily) {
  return batchEmbedContents(prefixOf(family), `Embed several contents (${family.name})`);
}

const unified: GeneratePrefix = { prefix: "chat", aliases: [], scope: "chat" };

/** The same below `/chat`, for the vendors that have these methods, chosen by the model's name. */
export const unifiedGenerateOperations = {
  predict: predict(unified, "Generate images, by the model's own method"),
  embedContent: embedContent(unified, "Embed one content, by the model's own method"),
  batchEmbedContents: batchEmbedContents(
    unified,
    "Embed several contents, by the model's own method",
  ),
};

function prefixOf({ label, aliases }: VendorFamily): GeneratePrefix {
  return { prefix: label, aliases, scope: label };
}

function predict(at: GeneratePrefix, summary: string) {
  return defineContract({
    ...generateMethod(at, "predict"),
    summary,
    description,
    body: predictRequest,
    answer: predictAnswer,
    interaction: true,
    errors: callErrors,
  });
}

function embedContent(at: GeneratePrefix, summary: string) {
  return defineContract({
    ...generateMethod(at, "embedContent"),
    summary,
    description,
    body: embedRequest,
    answer: embedAnswer,
    interaction: true,
    errors: callErrors,
  });
}

function batchEmbedContents(at: GeneratePrefix, summary: string) {
  return defineContract({
    ...generateMethod(at, "batchEmbedContents"),
    summary,
    description,
    body: batchEmbedRequest,
    answer: batchEmbedAnswer,
    interaction: true,
    errors: callErrors,
  });
}
