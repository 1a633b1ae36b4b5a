import { unreadableAnswer } from "../../../../shared/fault.ts";
import { asRecord, count, isRecord } from "../../../kernel/json.ts";
import { bareModel } from "../models.ts";

/**
 * Maximum number of texts in one request. Observed, and reported for the vendor's SDKs
 * (langchainjs#4491, vercel/ai#16575), but undocumented.
 */
export const maxBatch = 100;

/** A request that embeds several texts at once: one entry per text, each repeating the model. */
export function batchRequest(
  texts: readonly string[],
  model: string,
  dimensions: number | undefined,
): unknown {
  return {
    requests: texts.map((text) => ({
      model: `models/${bareModel(model)}`,
      content: { parts: [{ text }] },
      ...(dimensions === undefined ? {} : { outputDimensionality: dimensions }),
    })),
  };
}

/** The vectors of the answer, in the order of the texts, and the tokens if any are reported. */
export function readBatch(answer: unknown): { vectors: number[][]; tokens: number | undefined } {
  if (!isRecord(answer) || !Array.isArray(answer.embeddings)) {
    throw unreadableAnswer("an answer without embeddings");
  }
  const vectors = answer.embeddings.map((one: unknown) => {
    const values: unknown = asRecord(one).values;
    if (!Array.isArray(values) || !values.every((value) => typeof value === "number")) {
      throw unreadableAnswer("an embedding that isn't a vector");
    }
    return values as number[];
  });
  const usage = asRecord(answer.usageMetadata);
  return { vectors, tokens: count(usage.promptTokenCount) || undefined };
}
