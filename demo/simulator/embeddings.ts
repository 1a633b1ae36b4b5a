/** `POST /embeddings`: unit vectors that depend on the text, as numbers or base64. */
import type { EmbeddingCreateParams } from "openai/resources/embeddings";
import { readBehaviours } from "./behaviours.ts";
import { admit, bodyOf, type Exchange } from "./exchange.ts";
import { type ChatVendor } from "./chat_vendor.ts";
import { asNumber, type JsonObject } from "./json.ts";
import { type ChatModel } from "./openai_models.ts";
import { invalid, require } from "./openai_problems.ts";
import { Problem } from "./problem.ts";
import { type Rule } from "./rules.ts";
import { countPromptTokens, hash } from "./tokens.ts";

const FIELDS = {
  model: { is: "string", required: true },
  input: { is: ["string", "array"], required: true },
  dimensions: { is: "integer", min: 1, max: 3072 },
  encoding_format: { is: "string", oneOf: ["float", "base64"] },
  user: { is: "string" },
} satisfies Record<keyof EmbeddingCreateParams, Rule>;

const DIMENSIONS = 1536;

export async function embeddings(exchange: Exchange, vendor: ChatVendor): Promise<Response> {
  const body = require(bodyOf(exchange), FIELDS, "", vendor.isStrict);
  const model = vendor.otherModels.find(({ id }) => id === body.model);
  if (!model) {
    throw new Problem(404, `The model '${body.model}' does not exist.`, {
      code: "model_not_found",
      param: "model",
    });
  }
  const inputs = inputsOf(body.input);
  const said = inputs.filter((input) => typeof input === "string").join(" ");
  await admit(exchange, readBehaviours(said, exchange.state.label), said);
  const dimensions = asNumber(body.dimensions) ?? DIMENSIONS;
  const tokens = countPromptTokens(body.input);
  return Response.json({
    object: "list",
    model: body.model,
    data: inputs.map((input, index) => {
      const vector = unitVector(JSON.stringify(input), dimensions);
      const embedding = body.encoding_format === "base64" ? inBase64(vector) : [...vector];
      return { object: "embedding", index, embedding };
    }),
    usage: { prompt_tokens: tokens, total_tokens: tokens, ...costOf(vendor, model, tokens) },
  });
}

/** The cost member, of vendors that report what they charge. */
function costOf(vendor: ChatVendor, model: ChatModel, tokens: number): JsonObject {
  const { cost } = vendor.usage({
    ...{ input: tokens, cached: 0, written: 0, searches: 0 },
    ...{ output: 0, reasoning: 0 },
  }, model);
  return cost === undefined ? {} : { cost };
}

function inputsOf(input: unknown): unknown[] {
  if (!Array.isArray(input)) return [input];
  if (input.length === 0 || input.some((item) => item === "")) {
    throw invalid("input", "invalid_value", "Invalid 'input': input cannot be an empty string.");
  }
  return typeof input[0] === "number" ? [input] : input;
}

/** Returns a vector of length 1 that depends only on the text. */
export function unitVector(text: string, dimensions: number): Float32Array {
  const raw = Array.from(
    { length: dimensions },
    (_, index) => hash(`${index}:${text}`) / 2 ** 31 - 1,
  );
  const length = Math.hypot(...raw) || 1;
  return Float32Array.from(raw, (value) => value / length);
}

function inBase64(vector: Float32Array): string {
  const view = new DataView(new ArrayBuffer(vector.length * 4));
  vector.forEach((value, index) => view.setFloat32(index * 4, value, true));
  return btoa(String.fromCharCode(...new Uint8Array(view.buffer)));
}
