import { Fault } from "../../../../shared/fault.ts";
import { count, isRecord } from "../../../kernel/json.ts";
import { bareModel } from "../models.ts";

/**
 * Texts that the vendor takes in one request; it refuses more. Observed, and in its SDKs' reports
 * (langchainjs#4491, vercel/ai#16575), not in its documentation.
 */
export const maxBatch = 100;

/** A request of the method that embeds several texts at once: one entry a text, each naming the model again. */
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

/** The vectors of its answer, in the order of the texts, and the tokens where they are counted. */
export function readBatch(answer: unknown): { vectors: number[][]; tokens: number | undefined } {
  if (!isRecord(answer) || !Array.isArray(answer.embeddings)) {
    throw new Fault("upstream_invalid_response", { note: "an answer without embeddings" });
  }
  const vectors = answer.embeddings.map((one: unknown) => {
    const values: unknown = isRecord(one) ? one.values : undefined;
    if (!Array.isArray(values) || !values.every((value) => typeof value === "number")) {
      throw new Fault("upstream_invalid_response", { note: "an embedding that is no vector" });
    }
    return values as number[];
  });
  const usage = isRecord(answer.usageMetadata) ? answer.usageMetadata : {};
  return { vectors, tokens: count(usage.promptTokenCount) };
}
