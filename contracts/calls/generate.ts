import { z } from "@hono/zod-openapi";
import { callErrors, countErrors } from "../kernel/call_errors.ts";
import { maxEntries, openObject, optional, upTo } from "../kernel/common.ts";
import { defineContract } from "../kernel/contract.ts";
import { generateMethod } from "./generate_method.ts";
import { type PathPrefix, summaryOf } from "./vendors.ts";

const content = openObject({
  role: optional(z.string()).describe("`user` or `model`. Default `user`."),
  parts: optional(z.union([z.array(openObject({})).max(maxEntries.parts), openObject({})]))
    .describe(
      "Text, inline data, function calls and their answers; a single one needs no array.",
    ),
}).openapi("GenerateContent");

const tool = upTo(maxEntries.tools).optional();

/**
 * A native content-generation request. Only what the service interprets is checked; every other
 * field reaches the native vendor as it was sent.
 */
export const generateRequest = openObject({
  contents: z.union([z.array(content).min(1).max(maxEntries.turns), content]).describe(
    "The conversation so far, oldest first; a single turn needs no array.",
  ),
  tools: tool.describe("What the model may call. Default none."),
  safetySettings: upTo(maxEntries.others).optional().describe("Which content to block."),
}).openapi("GenerateRequest");

const countRequest = openObject({
  contents: z.union([z.array(content).max(maxEntries.turns), content]).optional().describe(
    "The conversation to count. Either this or `generateContentRequest`.",
  ),
  generateContentRequest: openObject({
    contents: upTo(maxEntries.turns).optional().describe("As in a request to generate."),
    tools: tool.describe("As in a request to generate."),
  }).optional().describe("A whole request, system instruction and tools included."),
}).openapi("GenerateCountRequest");

const part = z.looseObject({
  text: optional(z.string()).describe("Text, or its next piece."),
  thought: optional(z.boolean()).describe("Whether the text is thinking. Default false."),
  functionCall: optional(z.looseObject({
    name: optional(z.string()).describe("Name of the function."),
    args: optional(z.looseObject({})).describe("Its arguments."),
  })).describe("A function call that the model requests."),
}).openapi("GeneratePart");

export const generateAnswer = z.looseObject({
  candidates: z.array(
    z.looseObject({
      index: optional(z.number().int()).describe("Position of the answer. Default 0."),
      content: optional(z.looseObject({
        role: optional(z.string()).describe("`model`."),
        parts: optional(z.array(part)).describe("Parts of the answer, or the next of them."),
      })).describe("The answer, or its next piece."),
      finishReason: optional(z.string()).describe(
        "Why it ended: `STOP`, `MAX_TOKENS`, `SAFETY`, …; absent until it ends.",
      ),
    }).openapi("GenerateCandidate"),
  ).optional().describe("The answers, or pieces of them."),
  usageMetadata: z.looseObject({
    promptTokenCount: z.number().int().optional().describe("Whole prompt in tokens."),
    candidatesTokenCount: z.number().int().optional().describe("Answers in tokens."),
    thoughtsTokenCount: z.number().int().optional().describe("Thinking in tokens."),
    totalTokenCount: z.number().int().optional().describe("All of it, in tokens."),
  }).optional().describe("Tokens of the call so far."),
  modelVersion: z.string().optional().describe("The model that the vendor reports it used."),
}).openapi("GenerateAnswer");

const errorInStream = z.looseObject({
  error: z.looseObject({
    code: z.number().int().describe("The HTTP status, as the dialect's own clients read it."),
    message: z.string().describe("What went wrong, for people."),
    reason: z.string().optional().describe("What went wrong, for programs."),
    status: z.string().describe("Canonical name of the status, such as `UNAVAILABLE`."),
  }).describe("The error."),
}).openapi("GenerateStreamError");

/** The content of a stream's `data:` lines. */
const generateEvent = z.union([generateAnswer, errorInStream]).openapi("GenerateStreamEvent");

const tokenCount = z.looseObject({
  totalTokens: z.number().int().describe("Tokens of the whole prompt."),
}).openapi("GenerateTokenCount");

/** `alt=sse` (or `$alt=sse`) streams server-sent events; else a stream is one JSON array. */
const query = z.looseObject({
  alt: z.string().optional().describe("`sse`: server-sent events. Default: one JSON array.")
    .openapi({ example: "sse" }),
  $alt: z.string().optional().describe("Longer name of `alt`."),
});

/** The native endpoints. */
export function generateContracts(prefix: PathPrefix) {
  const verb = (name: string) => ({ ...generateMethod(prefix, name), errors: callErrors });
  return {
    whole: defineContract({
      ...verb("generateContent"),
      summary: summaryOf("Generate content", prefix),
      body: generateRequest,
      answer: generateAnswer,
      interaction: true,
    }),
    stream: defineContract({
      ...verb("streamGenerateContent"),
      summary: summaryOf("Stream generated content", prefix),
      description: "One JSON array, or server-sent events with `?alt=sse`.",
      query,
      body: generateRequest,
      answer: z.array(generateAnswer),
      media: { "text/event-stream": generateEvent },
      interaction: true,
    }),
    count: defineContract({
      ...verb("countTokens"),
      summary: summaryOf("Count tokens", prefix),
      description:
        "The vendor's own count where it has one, else an estimate with `X-Token-Count: estimated`. Costs nothing.",
      body: countRequest,
      answer: tokenCount,
      errors: countErrors,
    }),
  };
}
