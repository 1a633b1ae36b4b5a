/** The generate vendor: generateContent, streamGenerateContent (array and SSE), countTokens. */
import type { GenerateContentResponseUsageMetadata } from "@google/genai";
import { answerStream, answerWhole, type StreamScript } from "./answers.ts";
import { type Behaviours, readBehaviours } from "./behaviours.ts";
import { admit, bodyOf, type Exchange, headerNames } from "./exchange.ts";
import { checkGenerate } from "./generate_checks.ts";
import { GENERATE_MODELS, type GenerateModel } from "./generate_models.ts";
import { candidateOf, elementsOf } from "./generate_output.ts";
import { readGeneratePrompt } from "./generate_prompt.ts";
import { badRequest, readMessage } from "./generate_proto.ts";
import { asNumber, asObject, asText, compact, type JsonObject } from "./json.ts";
import { type Output, think } from "./model.ts";
import { Problem } from "./problem.ts";
import { countPromptTokens } from "./tokens.ts";

/** All that is needed to write one answer, whole or streamed. */
export interface GenerateAnswer {
  model: GenerateModel;
  outputs: Output[];
  behaviours: Behaviours;
  includesThoughts: boolean;
  topLogprobs: number | null;
  usage: Usage;
  responseId: string;
  nextCallId(): string;
}

/** The usage as it is sent: the published class without its computed members. */
export type Usage = Omit<GenerateContentResponseUsageMetadata, "promptTokensDetails"> & {
  promptTokensDetails?: { modality: string; tokenCount: number }[];
};

export async function generateContent(
  exchange: Exchange,
  name: string,
  isStream: boolean,
): Promise<Response> {
  const answer = await prepare(exchange, name);
  const { behaviours } = answer;
  if (isStream) {
    const isSse = exchange.url.searchParams.get("alt") === "sse" ||
      exchange.url.searchParams.get("$alt") === "sse";
    return answerStream(exchange, behaviours, generateScript(elementsOf(answer), isSse));
  }
  if (behaviours.ending === "error") throw overloaded();
  return answerWhole(exchange, behaviours, wholeOf(answer));
}

export function countTokens(exchange: Exchange, name: string): Response {
  findGenerateModel(name);
  const request = readMessage(bodyOf(exchange), "CountTokensRequest", "");
  if (request.contents && request.generateContentRequest) {
    throw badRequest("contents and generate_content_request are mutually exclusive.");
  }
  const tokens = countPromptTokens(promptOf(asObject(request.generateContentRequest) ?? request));
  return Response.json({
    totalTokens: tokens,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: tokens }],
  });
}

/** The model of that name, with or without `models/`. Throws the vendor's 404 Problem. */
export function findGenerateModel(name: string): GenerateModel {
  const model = GENERATE_MODELS.find((row) => row.id === name);
  if (model) return model;
  throw new Problem(
    404,
    `models/${name} is not found for API version v1beta, or is not supported for generateContent.`,
    { code: "NOT_FOUND" },
  );
}

async function prepare(exchange: Exchange, name: string): Promise<GenerateAnswer> {
  const model = findGenerateModel(name);
  const request = readMessage(bodyOf(exchange), "GenerateContentRequest", "");
  checkGenerate(request, model);
  const config = asObject(request.generationConfig) ?? {};
  const thinking = asObject(config.thinkingConfig) ?? {};
  const prompt = {
    ...readGeneratePrompt(request, headerNames(exchange)),
    reasoningSentences: sentencesOf(thinking),
  };
  const behaviours = readBehaviours(prompt.question, exchange.state.label);
  await admit(exchange, behaviours, prompt.question);
  const count = asNumber(config.candidateCount) ?? 1;
  const outputs = Array.from({ length: count }, (_, index) => think(prompt, behaviours, index));
  return {
    model,
    outputs,
    behaviours,
    includesThoughts: thinking.includeThoughts === true,
    topLogprobs: config.responseLogprobs === true ? asNumber(config.logprobs) ?? 0 : null,
    usage: usageOf(exchange, request, outputs, behaviours),
    responseId: exchange.state.nextId("", 23),
    nextCallId: () => exchange.state.nextId("", 8),
  };
}

function sentencesOf(thinking: JsonObject): number {
  const budget = asNumber(thinking.thinkingBudget);
  if (budget === 0) return 0;
  if (budget !== null && budget > 0) return budget < 4096 ? 1 : 4;
  const levels: Readonly<Record<string, number>> = { MINIMAL: 1, LOW: 1, MEDIUM: 2, HIGH: 4 };
  return levels[asText(thinking.thinkingLevel).toUpperCase()] ?? 2;
}

/** Returns what counts as the prompt: neither the model's name nor the settings do. */
function promptOf({ contents, systemInstruction, tools }: JsonObject): JsonObject {
  return compact({ contents, systemInstruction, tools });
}

const CACHED_FROM_TOKENS = 1024;

function usageOf(
  exchange: Exchange,
  request: JsonObject,
  outputs: readonly Output[],
  behaviours: Behaviours,
): Usage {
  const parts = promptOf(request);
  const prompt = countPromptTokens(parts);
  const isRepeated = exchange.state.isCached(JSON.stringify(parts));
  const isBlocked = behaviours.refusal !== null;
  const candidates = isBlocked ? 0 : outputs.reduce((sum, output) => sum + output.tokens, 0);
  const thoughts = behaviours.refusal === "prompt"
    ? 0
    : outputs.reduce((sum, output) => sum + output.reasoning.tokens, 0);
  // Numbers that are zero are left out, as protobuf JSON does.
  return compact({
    promptTokenCount: prompt,
    cachedContentTokenCount: isRepeated && prompt >= CACHED_FROM_TOKENS
      ? Math.floor(prompt / 128) * 128
      : undefined,
    candidatesTokenCount: candidates || undefined,
    thoughtsTokenCount: thoughts || undefined,
    totalTokenCount: prompt + candidates + thoughts,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: prompt }],
  }) as Usage;
}

function wholeOf(answer: GenerateAnswer): JsonObject {
  const { model, usage, responseId, behaviours } = answer;
  const isPromptBlocked = behaviours.refusal === "prompt";
  return {
    ...(isPromptBlocked
      ? { promptFeedback: { blockReason: "SAFETY" } }
      : { candidates: answer.outputs.map((output, index) => candidateOf(answer, output, index)) }),
    usageMetadata: usage,
    modelVersion: model.id,
    responseId,
  };
}

function overloaded(): Problem {
  return new Problem(503, "The model is overloaded. Please try again later.");
}

/** Returns the script of a stream with these elements. */
export function generateScript(elements: readonly JsonObject[], isSse: boolean): StreamScript {
  const failure = { error: { code: 503, message: overloaded().message, status: "UNAVAILABLE" } };
  if (isSse) {
    const frame = (element: unknown) => `data: ${JSON.stringify(element)}\r\n\r\n`;
    return {
      contentType: "text/event-stream",
      frames: elements.map(frame),
      closing: 1,
      errorFrame: frame(failure),
    };
  }
  const pretty = (element: unknown) => JSON.stringify(element, null, 2).replaceAll("\n", "\r\n");
  return {
    contentType: "application/json; charset=UTF-8",
    frames: [
      ...elements.map((element, index) => `${index === 0 ? "[" : ",\r\n"}${pretty(element)}`),
      "\r\n]\r\n",
    ],
    closing: 2,
    errorFrame: `,\r\n${pretty(failure)}\r\n]\r\n`,
  };
}
