import { type GenerateAnswer, type Usage } from "./generate.ts";
import { signedContent } from "./generate_checks.ts";
import { asObject, type JsonObject, parseJson } from "./json.ts";
import { logprobOf } from "./logprobs.ts";
import { type Output } from "./model.ts";
import { seal } from "./seals.ts";
import { hash, tokenize } from "./tokens.ts";
import { bytesBefore, type FoundPage } from "./web_search.ts";

/** One candidate of a whole answer. */
export function candidateOf(answer: GenerateAnswer, output: Output, index: number): JsonObject {
  const thoughts = thoughtParts(answer, output, [output.reasoning.chunks.join("")]);
  const text = output.text === ""
    ? []
    : [{ text: output.text, ...signatureOfText(answer, output) }];
  return ended(answer, output, index, [...thoughts, ...text, ...callParts(answer, output)]);
}

/** The elements of a stream: new parts only, usage on each, the last with the finish reasons. */
export function elementsOf(answer: GenerateAnswer): JsonObject[] {
  const { usage, model, responseId, behaviours } = answer;
  const wrap = (body: JsonObject, seen: Usage) => ({
    ...body,
    usageMetadata: seen,
    modelVersion: model.id,
    responseId,
  });
  if (behaviours.refusal === "prompt") {
    return [wrap({ promptFeedback: { blockReason: "SAFETY" } }, usage)];
  }
  // Early elements don't count the output yet.
  const { candidatesTokenCount = 0, ...uncounted } = usage;
  const early = {
    ...uncounted,
    totalTokenCount: (usage.totalTokenCount ?? 0) - candidatesTokenCount,
  };
  const elements: JsonObject[] = [];
  answer.outputs.forEach((output, index) => {
    const parts = [
      ...thoughtParts(answer, output, output.reasoning.chunks).map((part) => [part]),
      ...output.chunks.map((text) => [{ text }]),
      ...(output.calls.length > 0 ? [callParts(answer, output)] : []),
    ];
    const shown = output.refusal === null ? parts : [];
    for (const group of shown) {
      const candidate = { content: { parts: group, role: "model" }, ...indexOf(index) };
      elements.push(wrap({ candidates: [candidate] }, early));
    }
  });
  const last = answer.outputs.map((output, index) =>
    ended(answer, output, index, [{ text: "", ...signatureOfText(answer, output) }])
  );
  elements.push(wrap({ candidates: last }, usage));
  return elements;
}

function ended(
  answer: GenerateAnswer,
  output: Output,
  index: number,
  parts: JsonObject[],
): JsonObject {
  const hasContent = output.refusal === null && parts.length > 0;
  return {
    ...(hasContent ? { content: { parts, role: "model" } } : {}),
    finishReason: finishReason(output),
    ...(output.finish === "tools" ? { finishMessage: "Model generated function call(s)." } : {}),
    ...(output.refusal === null ? {} : { safetyRatings: SAFETY_RATINGS }),
    ...indexOf(index),
    ...groundingOf(output),
    ...logprobs(answer, output),
  };
}

/** Returns the queries, the pages, and which passages come from which pages; indices in bytes. */
function groundingOf({ text, searches, passages }: Output): JsonObject {
  if (searches.length === 0) return {};
  const pages = new Map<string, FoundPage>();
  for (const page of passages.flatMap((passage) => passage.pages)) pages.set(page.url, page);
  const places = [...pages.keys()];
  return {
    groundingMetadata: {
      webSearchQueries: searches.map(({ query }) => query),
      searchEntryPoint: { renderedContent: "<div>search</div>" },
      groundingChunks: [...pages.values()].map(({ url, title }) => ({ web: { uri: url, title } })),
      groundingSupports: passages.map((passage) => ({
        segment: {
          startIndex: bytesBefore(text, passage.start),
          endIndex: bytesBefore(text, passage.end),
          text: text.slice(passage.start, passage.end),
        },
        groundingChunkIndices: passage.pages.map(({ url }) => places.indexOf(url)),
      })),
    },
  };
}

const SAFETY_RATINGS = [
  { category: "HARM_CATEGORY_DANGEROUS_CONTENT", probability: "HIGH", blocked: true },
];

function finishReason(output: Output): string {
  if (output.finish === "length") return "MAX_TOKENS";
  return output.finish === "refusal" ? "SAFETY" : "STOP";
}

/** A zero index is left out, as protobuf JSON does. */
function indexOf(index: number): JsonObject {
  return index === 0 ? {} : { index };
}

function thoughtParts(
  answer: GenerateAnswer,
  output: Output,
  texts: readonly string[],
): JsonObject[] {
  if (!answer.includesThoughts || output.reasoning.tokens === 0) return [];
  return texts.map((text) => ({ text, thought: true }));
}

/** Returns the signature of an answer without calls, which clients may or may not send back. */
function signatureOfText(answer: GenerateAnswer, output: Output): JsonObject {
  if (answer.model.generation < 3 || output.calls.length > 0) return {};
  return { thoughtSignature: seal("thought", output.text) };
}

/** The calls; only the first one of a step carries the thought signature. */
function callParts(answer: GenerateAnswer, output: Output): JsonObject[] {
  return output.calls.map((call, index) => {
    const args = asObject(parseJson(call.input)) ?? {};
    const isSigned = answer.model.generation >= 3 && index === 0;
    return {
      functionCall: {
        ...(answer.model.hasCallIds ? { id: answer.nextCallId() } : {}),
        name: call.name,
        args,
      },
      ...(isSigned ? { thoughtSignature: seal("thought", signedContent(call.name, args)) } : {}),
    };
  });
}

function logprobs(answer: GenerateAnswer, output: Output): JsonObject {
  const { topLogprobs } = answer;
  if (topLogprobs === null || output.text === "") return {};
  const entries = tokenize(output.text).map((token) => logprobOf(token, topLogprobs));
  const chosen = (entry: { token: string; logprob: number }) => ({
    token: entry.token,
    tokenId: hash(entry.token) % 100_000,
    logProbability: entry.logprob,
  });
  const sum = entries.reduce((total, entry) => total + entry.logprob, 0);
  return {
    avgLogprobs: sum / entries.length,
    logprobsResult: {
      chosenCandidates: entries.map(chosen),
      topCandidates: entries.map((entry) => ({ candidates: entry.top_logprobs.map(chosen) })),
    },
  };
}
