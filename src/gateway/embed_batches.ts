import { batchRequest, readBatch } from "../dialects/generate/embeddings.ts";
import { batchEmbedPath } from "../dialects/generate/path.ts";
import { embeddingList, inputTokens, textInputs } from "../dialects/operations/embeddings.ts";
import type { OperationRequest } from "../dialects/operations/request.ts";
import { Fault } from "../domain/fault.ts";
import { parseAnswer } from "./deliver.ts";
import type { OperationAnswer, OperationDesk } from "./operations.ts";

/**
 * Embeddings of a vendor that speaks generate, by its own batch method, in the shape that chat-style
 * clients read. Where it counts no tokens they are estimated.
 */
export async function embedInBatches(
  desk: OperationDesk,
  { fields }: OperationRequest,
): Promise<OperationAnswer> {
  const { model } = desk.target;
  const texts = textInputs(fields.input);
  const dimensions = typeof fields.dimensions === "number" ? fields.dimensions : undefined;
  const answer = await desk.ask({
    path: batchEmbedPath(model),
    contentType: "application/json",
    accept: "application/json",
    body: JSON.stringify(batchRequest(texts, model, dimensions)),
    sameDialect: false,
  });
  const text = new TextDecoder().decode(await desk.read(answer));
  const { vectors, tokens } = readBatch(parseAnswer(text));
  if (vectors.length !== texts.length) {
    const note = `${vectors.length} embeddings for ${texts.length} texts`;
    throw new Fault("upstream_invalid_response", { note });
  }
  const input = tokens ?? inputTokens(fields.input);
  desk.meter.report({ input, output: 0 }, tokens === undefined ? "estimated" : "reported", "stop");
  const asBase64 = fields.encoding_format === "base64";
  const body = JSON.stringify(embeddingList(vectors, { model, tokens: input, asBase64 }));
  const headers = { "content-type": "application/json" };
  return { status: 200, headers, body, recordText: body };
}
