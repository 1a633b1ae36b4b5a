import { z } from "@hono/zod-openapi";
import { errorSchemas, optional } from "../kernel/common.ts";

/** Tokens of a call, as the chat dialect counts them. */
export const chatUsage = z.looseObject({
  prompt_tokens: z.number().int().describe("Whole prompt in tokens, cached parts included."),
  completion_tokens: z.number().int().describe("Whole answer in tokens, reasoning included."),
  total_tokens: z.number().int().describe("Sum of both, in tokens."),
}).openapi("ChatUsage");

const callDelta = z.looseObject({
  index: z.number().int().optional().describe("Which call it belongs to, from 0."),
  id: optional(z.string()).describe("Id of the call, in its first piece."),
  type: optional(z.string()).describe("`function`."),
  function: optional(z.looseObject({
    name: optional(z.string()).describe("Name of the function, in its first piece."),
    arguments: optional(z.string()).describe("The next piece of the arguments' JSON text."),
  })).describe("The new part of the call."),
}).openapi("ChatToolCallDelta");

const delta = z.looseObject({
  role: optional(z.string()).describe("`assistant`, in the first piece."),
  content: optional(z.string()).describe("The next piece of the text."),
  refusal: optional(z.string()).describe("The next piece of a refusal."),
  tool_calls: optional(z.array(callDelta)).describe("The next pieces of tool calls."),
}).openapi("ChatDelta");

const chatChunk = z.looseObject({
  id: z.string().describe("The same in every chunk of an answer."),
  object: z.literal("chat.completion.chunk").describe("Always `chat.completion.chunk`."),
  created: z.number().int().describe("Unix time in seconds."),
  model: z.string().describe("The model that the vendor reports it used."),
  choices: z.array(z.looseObject({
    index: z.number().int().describe("Position of the answer, from 0."),
    delta: delta.describe("The new part: a piece of `content`, of `tool_calls`, …"),
    finish_reason: optional(z.string()).describe("Why the answer ended, in its last chunk."),
  })).describe("The new part of each answer; empty in the chunk with the usage."),
  usage: z.union([chatUsage, z.null()]).optional().describe(
    "Tokens of the call, in the last chunk, with `stream_options.include_usage`.",
  ),
}).openapi("ChatCompletionChunk");

/** The content of a stream's `data:` lines; the last one is `[DONE]`. */
export const chatEvent = z.union([chatChunk, errorSchemas.chat]).openapi("ChatStreamEvent");
