/** `:embedContent` and `:batchEmbedContents` of the generate vendor: unit vectors that depend on the text. */
import { readBehaviours } from "./behaviours.ts";
import { unitVector } from "./embeddings.ts";
import { admit, bodyOf, type Exchange } from "./exchange.ts";
import { badRequest, readMessage } from "./generate_proto.ts";
import { asNumber, asObject, asText, type JsonObject, objectsIn } from "./json.ts";
import { Problem } from "./problem.ts";
import { countTokens } from "./tokens.ts";

/** The vendor's embedding models; only the newer one counts tokens. */
export const EMBEDDING_MODELS: readonly string[] = ["gemini-embedding-001", "gemini-embedding-2"];

const DIMENSIONS = 3072;
const MOST_PER_BATCH = 100;

/** Embeds one text; the body may name the model again. */
export async function embedContent(exchange: Exchange, name: string): Promise<Response> {
  const { embeddings, ...counted } = await embed(
    exchange,
    name,
    () => [{
      model: `models/${name}`,
      ...readMessage(bodyOf(exchange), "EmbedContentRequest", ""),
    }],
  );
  return Response.json({ embedding: embeddings[0], ...counted });
}

export async function batchEmbedContents(exchange: Exchange, name: string): Promise<Response> {
  return Response.json(
    await embed(exchange, name, () => {
      const { requests } = readMessage(bodyOf(exchange), "BatchEmbedContentsRequest", "");
      return objectsIn(requests);
    }),
  );
}

async function embed(exchange: Exchange, name: string, read: () => JsonObject[]) {
  if (!EMBEDDING_MODELS.includes(name)) {
    throw new Problem(
      404,
      `models/${name} is not found for API version v1beta, or is not supported for embedContent.`,
      { code: "NOT_FOUND" },
    );
  }
  const asked = read();
  if (asked.length > MOST_PER_BATCH) {
    throw badRequest(
      "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch\n",
    );
  }
  const texts = asked.map((one, index) => textOf(one, name, index));
  const all = texts.join(" ");
  await admit(exchange, readBehaviours(all, exchange.state.label), all);
  const embeddings = texts.map((text, index) => {
    const length = asNumber(asked[index]!.outputDimensionality) ?? DIMENSIONS;
    return { values: [...unitVector(text, length)] };
  });
  const counted = name === "gemini-embedding-2"
    ? { usageMetadata: { promptTokenCount: texts.reduce((sum, one) => sum + countTokens(one), 0) } }
    : {};
  return { embeddings, ...counted };
}

function textOf(request: JsonObject, name: string, index: number): string {
  const where = `* BatchEmbedContentsRequest.requests[${index}]`;
  if (request.model !== `models/${name}`) {
    throw badRequest(`${where}.model: model in requests must match the model in the path\n`);
  }
  const length = asNumber(request.outputDimensionality);
  if (length !== null && (length < 1 || length > DIMENSIONS)) {
    throw badRequest(`${where}.output_dimensionality: must be between 1 and ${DIMENSIONS}\n`);
  }
  const parts = objectsIn(asObject(request.content)?.parts);
  const text = parts.map((part) => asText(part.text)).join("");
  if (text === "") throw badRequest(`${where}.content: content is empty\n`);
  return text;
}
