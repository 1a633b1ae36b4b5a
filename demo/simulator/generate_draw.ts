/** The generate vendor's picture models: `:predict`, and `:generateContent` with pictures. */
import type { ImageConfig } from "@google/genai";
import { answerStream, answerWhole } from "./answers.ts";
import { type Behaviours, readBehaviours, withoutMagicWords } from "./behaviours.ts";
import { admit, bodyOf, type Exchange } from "./exchange.ts";
import { generateScript } from "./generate.ts";
import { mediaOf } from "./generate_checks.ts";
import { badRequest, readMessage } from "./generate_proto.ts";
import { asArray, asNumber, asObject, asText, type JsonObject, objectsIn } from "./json.ts";
import { Problem } from "./problem.ts";
import { type Rule, type Rules } from "./rules.ts";
import { findFault } from "./rules.ts";
import { toBase64 } from "./media.ts";
import { picture, type PictureFormat } from "./samples/mod.ts";
import { countPromptTokens } from "./tokens.ts";

export const PREDICT_MODELS = [
  "imagen-4.0-generate-001",
  "imagen-4.0-fast-generate-001",
  "imagen-4.0-ultra-generate-001",
];
export const DRAWING_MODELS = ["gemini-2.5-flash-image", "gemini-3-pro-image-preview"];

const PREDICT_RATIOS = ["1:1", "3:4", "4:3", "9:16", "16:9"];
const CONTENT_RATIOS = [...PREDICT_RATIOS, "2:3", "3:2", "4:5", "5:4", "21:9"];

const text: Rule = { is: "string" };
const flag: Rule = { is: "boolean" };
const PARAMETERS: Rules = {
  sampleCount: { is: "integer", min: 1, max: 4 },
  aspectRatio: { is: "string", oneOf: PREDICT_RATIOS },
  sampleImageSize: text,
  imageSize: { is: "string", oneOf: ["1K", "2K"] },
  personGeneration: { is: "string", oneOf: ["dont_allow", "allow_adult", "allow_all"] },
  negativePrompt: text,
  seed: { is: "integer", min: 0, max: 2 ** 32 - 1 },
  outputMimeType: { is: "string", oneOf: ["image/png", "image/jpeg"] },
  outputCompressionQuality: { is: "integer", min: 0, max: 100 },
  outputOptions: { is: "object" },
  addWatermark: flag,
  enhancePrompt: flag,
  includeRaiReason: flag,
  includeSafetyAttributes: flag,
  language: text,
  safetySetting: text,
};

export async function predict(exchange: Exchange, name: string): Promise<Response> {
  if (!PREDICT_MODELS.includes(name)) throw notFound(name, "predict");
  const body = bodyOf(exchange);
  const [instance, ...others] = objectsIn(body.instances);
  const prompt = asText(instance?.prompt);
  if (others.length > 0 || prompt === "") throw badRequest("Expected one instance with a prompt.");
  const parameters = asObject(body.parameters) ?? {};
  const fault = findFault(parameters, PARAMETERS, true);
  if (fault) throw badRequest(`Invalid value for parameter '${fault.field}': ${fault.expected}`);
  if (parameters.seed !== undefined && parameters.addWatermark !== false) {
    throw badRequest("Seed is not supported when watermark is enabled.");
  }
  const behaviours = readBehaviours(prompt, exchange.state.label);
  await admit(exchange, behaviours, prompt);
  const count = asNumber(parameters.sampleCount) ?? 4;
  const made = Math.max(0, count - behaviours.filtered);
  const type = asText(parameters.outputMimeType, "image/png");
  const size = pixelsOf(asText(parameters.aspectRatio, "1:1"), asText(parameters.imageSize, "1K"));
  const predictions: JsonObject[] = Array.from({ length: made }, (_, index) => ({
    mimeType: type,
    bytesBase64Encoded: draw(prompt, index, size, formatOf(type), behaviours),
  }));
  // The vendor mentions withheld pictures only if asked to.
  if (made < count && parameters.includeRaiReason === true) {
    predictions.push({ raiFilteredReason: REASON });
  }
  return answerWhole(exchange, behaviours, predictions.length > 0 ? { predictions } : {});
}

const REASON =
  "Unable to show generated images. All images were filtered out because they violated the usage guidelines. Support codes: 58061214";

/** Returns a whole answer of a picture model; undefined if `name` is no such model. */
export async function drawContent(
  exchange: Exchange,
  name: string,
  isStream: boolean,
): Promise<Response | undefined> {
  if (!DRAWING_MODELS.includes(name)) return undefined;
  const request = readMessage(bodyOf(exchange), "GenerateContentRequest", "");
  const config = asObject(request.generationConfig) ?? {};
  // By default the real models answer with both.
  const { responseModalities = ["TEXT", "IMAGE"] } = config;
  if (!asArray(responseModalities).includes("IMAGE")) {
    throw badRequest("The model does not support the requested response modalities: text");
  }
  const parts = objectsIn(request.contents).flatMap((content) => objectsIn(content.parts));
  const given = mediaOf(parts, "contents");
  const prompt = parts.map((part) => asText(part.text)).join("\n");
  const behaviours = readBehaviours(prompt, exchange.state.label);
  await admit(exchange, behaviours, prompt);
  const { aspectRatio = "1:1", imageSize = "1K" } = readImageConfig(config.imageConfig, name);
  const input = countPromptTokens(request.contents);
  if (behaviours.refusal === "prompt") {
    return answerWhole(exchange, behaviours, {
      promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
      usageMetadata: { promptTokenCount: input, totalTokenCount: input },
      modelVersion: name,
    });
  }
  const isWithheld = behaviours.filtered > 0;
  const data = isWithheld
    ? ""
    : draw(prompt, given.length, pixelsOf(aspectRatio, imageSize), "png", behaviours);
  const blob = { inlineData: { mimeType: "image/png", data } };
  const answer = [{ text: `Here is ${withoutMagicWords(prompt).slice(0, 60)}.` }, blob];
  // The larger model shows its drafts.
  const drafts = name.startsWith("gemini-3") ? [{ ...blob, thought: true }] : [];
  const content = (parts: JsonObject[]) => isWithheld ? {} : { content: { role: "model", parts } };
  const element = (candidate: JsonObject) => ({
    candidates: [{ ...candidate, index: 0 }],
    modelVersion: name,
  });
  const end = {
    finishReason: isWithheld ? "IMAGE_SAFETY" : "STOP",
    ...(isWithheld ? { finishMessage: "The image was withheld by the safety filter." } : {}),
  };
  const sums = {
    usageMetadata: usageOf(input, isWithheld ? 0 : imageSize === "4K" ? 2000 : 1290),
    responseId: exchange.state.nextId("", 23),
  };
  const shown = [...drafts, ...answer];
  if (isStream) {
    const pieces = isWithheld ? [] : shown.map((part) => element(content([part])));
    const elements = [...pieces, { ...element(end), ...sums }];
    return answerStream(exchange, behaviours, generateScript(elements, true));
  }
  return answerWhole(exchange, behaviours, {
    ...element({ ...content(shown), ...end }),
    ...sums,
  });
}

const TEXT_TOKENS = 12;

function usageOf(input: number, image: number): JsonObject {
  const output = image === 0 ? 0 : image + TEXT_TOKENS;
  return {
    promptTokenCount: input,
    ...(output === 0 ? {} : {
      candidatesTokenCount: output,
      candidatesTokensDetails: [
        { modality: "IMAGE", tokenCount: image },
        { modality: "TEXT", tokenCount: TEXT_TOKENS },
      ],
    }),
    totalTokenCount: input + output,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: input }],
  };
}

function readImageConfig(value: unknown, model: string): ImageConfig {
  const config = asObject(value) ?? {};
  const sizes = model.startsWith("gemini-2") ? ["1K"] : ["1K", "2K", "4K"];
  const rules = {
    aspectRatio: { is: "string", oneOf: CONTENT_RATIOS },
    imageSize: { is: "string", oneOf: sizes },
  } satisfies Rules;
  const fault = findFault(config, rules, true);
  if (fault) throw badRequest(`Invalid value at 'generation_config.image_config.${fault.field}'`);
  return config;
}

/** Returns a picture in base64, determined by the prompt and the picture's number. */
export function draw(
  prompt: string,
  index: number,
  size: { width: number; height: number },
  format: PictureFormat,
  { minBytes }: Behaviours,
): string {
  const subject = `${withoutMagicWords(prompt)}\u0000${index}`;
  return toBase64(picture({ format, ...size, subject, minBytes }));
}

const SIDES: Readonly<Record<string, number>> = { "512": 512, "1K": 1024, "2K": 2048, "4K": 4096 };

/** Returns the pixels of a ratio such as `16:9` at a size such as `1K`, in steps of eight. */
export function pixelsOf(ratio: string, size: string): { width: number; height: number } {
  const [across = 1, down = 1] = ratio.split(":").map(Number);
  const side = SIDES[size.toUpperCase()] ?? 1024;
  const step = (length: number) => Math.max(8, Math.round(length / 8) * 8);
  return {
    width: step(side * Math.sqrt(across / down)),
    height: step(side * Math.sqrt(down / across)),
  };
}

export function formatOf(mimeType: string): PictureFormat {
  return mimeType.endsWith("jpeg") ? "jpeg" : mimeType.endsWith("webp") ? "webp" : "png";
}

function notFound(name: string, verb: string): Problem {
  return new Problem(
    404,
    `models/${name} is not found for API version v1beta, or is not supported for ${verb}.`,
    { code: "NOT_FOUND" },
  );
}
