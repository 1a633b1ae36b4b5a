import { z } from "@hono/zod-openapi";
import { integers, maxEntries, optional } from "../kernel/common.ts";
import { defineContract } from "../kernel/contract.ts";
import { endUser, operationPath } from "../media/operation_paths.ts";
import { type PathPrefix, summaryOf } from "./vendors.ts";

const embeddingRequest = z.looseObject({
  model: z.string().min(1).describe(
    "On the unified endpoint `<provider>/<model_name>`, a name that one vendor has as its own, such as `gpt-5-mini`, or a virtual model's; on a vendor's family the vendor's own name, with or without the provider.",
  ).openapi({ example: "vendor-b/text-embedding-3-small" }),
  input: z.union([
    z.string().min(1),
    z.array(z.string().min(1)).min(1).max(maxEntries.turns),
    integers().min(1).max(maxEntries.turns),
    z.array(integers().min(1).max(maxEntries.turns)).min(1).max(maxEntries.turns),
  ], { error: "expected text, an array of texts, or arrays of token numbers; none of them empty" })
    .describe("One text, several, or token arrays. The vendor's limits apply."),
  encoding_format: optional(z.enum(["float", "base64"])).describe(
    "`base64`: 32-bit floats, little-endian. Default `float`.",
  ),
  dimensions: optional(z.number().int().min(1)).describe(
    "Length of the vectors, where the model can shorten them. Default the model's own.",
  ),
  user: endUser,
}).openapi("EmbeddingRequest");

const embeddingList = z.looseObject({
  object: z.literal("list").describe("Always `list`."),
  data: z.array(z.looseObject({
    object: z.literal("embedding").describe("Always `embedding`."),
    index: z.number().int().describe("Position of its text in the input, from 0."),
    embedding: z.union([z.array(z.number()), z.string()]).describe(
      "The vector: numbers, or base64 if requested.",
    ),
  })).describe("One vector per text."),
  model: z.string().describe("The model that the vendor reports it used."),
  usage: z.looseObject({
    prompt_tokens: z.number().int().describe("Tokens of all texts."),
    total_tokens: z.number().int().describe("The same number."),
  }).optional().describe("Tokens used; estimated if the vendor reports none."),
}).openapi("EmbeddingList");

/** `POST …/embeddings`. */
export function embeddingsContract(prefix: PathPrefix) {
  const fields = "Fields not listed here are passed on unchanged to chat-style vendors.";
  const translated =
    " vendor-d and vendor-e are asked in their native form: texts only, tokens estimated.";
  return defineContract({
    ...operationPath(prefix, "embeddings", "createEmbedding"),
    summary: summaryOf("Create embeddings", prefix),
    description: prefix.name === undefined ? fields + translated : fields,
    body: embeddingRequest,
    answer: embeddingList,
  });
}
