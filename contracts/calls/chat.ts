import { z } from "@hono/zod-openapi";
import { callErrors } from "../kernel/call_errors.ts";
import { chatEvent, chatUsage } from "./chat_stream.ts";
import { defineContract } from "../kernel/contract.ts";
import { maxEntries, openObject, optional, upTo } from "../kernel/common.ts";
import { pathBelow, type PathPrefix, summaryOf } from "./vendors.ts";

const message = openObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool", "function"]).describe(
    "Author of the message.",
  ),
  content: upTo(maxEntries.parts).optional().describe(
    "Text, or an array of parts; null or left out beside tool calls.",
  ),
  tool_calls: upTo(maxEntries.parts).optional().describe("Calls that the assistant made."),
}).openapi("ChatMessage");

/**
 * A chat-completions request. Only what the service interprets is checked; every other field
 * reaches a chat-style vendor as it was sent.
 */
export const chatRequest = openObject({
  model: z.string().min(1).describe(
    "On the unified endpoint `<provider>/<model_name>`, a name that one vendor has as its own, such as `gpt-5-mini`, or a virtual model's; on a vendor's family the vendor's own name, with or without the provider.",
  ).openapi({ example: "vendor-b/gpt-5-mini" }),
  models: upTo(maxEntries.others).optional().describe(
    "On the unified endpoint: at most 10 models to try, in this order, if `model` fails before the first byte of its answer. Never sent to a vendor. On a vendor's family this is that vendor's own field. Default none.",
  ).openapi({ example: ["anthropic/claude-sonnet-4-6"] }),
  messages: z.array(message).min(1).max(maxEntries.turns).describe(
    "The conversation so far, oldest first.",
  ),
  tools: upTo(maxEntries.tools).optional().describe("What the model may call. Default none."),
  functions: upTo(maxEntries.tools).optional().describe("Older name of `tools`.").openapi({
    deprecated: true,
  }),
  stop: upTo(maxEntries.others).optional().describe(
    "Text, or texts, that end the answer. Default none.",
  ),
  modalities: upTo(maxEntries.others).optional().describe("Kinds of answer. Default the model's."),
  stream: optional(z.boolean()).describe("Answer as server-sent events. Default false."),
  stream_options: optional(z.looseObject({
    include_usage: optional(z.boolean()).describe(
      "Send a last chunk with the usage. Default false.",
    ),
  })).describe("Options of the stream; ignored without `stream`."),
  max_completion_tokens: optional(z.number().int().min(1)).describe(
    "Maximum tokens of the answer, reasoning included. Default: the model's limit.",
  ),
  max_tokens: optional(z.number().int().min(1)).describe("Older name of `max_completion_tokens`.")
    .openapi({
      deprecated: true,
    }),
  n: optional(z.number().int().min(1).max(128)).describe("Number of answers. Default 1."),
  user: optional(z.string()).describe("Older name of `safety_identifier`.").openapi({
    deprecated: true,
  }),
  safety_identifier: optional(z.string()).describe(
    "The end user, recorded as `user_id`; at most 500 characters.",
  ),
}).openapi("ChatRequest");

const callId = z.string().describe("Id of the call, for the message that answers it.");

/** `type` tells which member is set. */
const toolCall = z.union([
  z.looseObject({
    id: callId,
    type: z.literal("function").describe("Always `function`."),
    function: z.looseObject({
      name: z.string().describe("Name of the function."),
      arguments: z.string().describe("The arguments as JSON text."),
    }).describe("The function to call."),
  }).openapi("ChatFunctionCall"),
  z.looseObject({
    id: callId,
    type: z.literal("custom").describe("Always `custom`."),
    custom: z.looseObject({
      name: z.string().describe("Name of the custom tool."),
      input: z.string().describe("The input, as plain text."),
    }).describe("The function to call."),
  }).openapi("ChatCustomCall"),
]).openapi("ChatToolCall");

/** The whole answer. */
const chatCompletion = z.looseObject({
  id: z.string().describe("The vendor's id of the answer, or ours if it has none."),
  object: z.literal("chat.completion").describe("Always `chat.completion`."),
  created: z.number().int().describe("Unix time in seconds."),
  model: z.string().describe("The model that the vendor reports it used."),
  choices: z.array(z.looseObject({
    index: z.number().int().describe("Position of the answer, from 0."),
    message: z.looseObject({
      role: z.string().describe("`assistant`."),
      content: z.string().nullable().describe("The text; null beside tool calls."),
      tool_calls: optional(z.array(toolCall)).describe("Tool calls that the model requests."),
    }).describe("The answer; has further fields beside the text, such as `refusal`."),
    finish_reason: z.string().nullable().describe(
      "Why it ended: `stop`, `length`, `tool_calls` or `content_filter`.",
    ),
  })).describe("The answers, `n` of them."),
  usage: chatUsage.optional().describe("Tokens of the call."),
}).openapi("ChatCompletion");

/** `POST …/chat/completions`. */
export function chatContract(prefix: PathPrefix) {
  return defineContract({
    ...pathBelow(prefix, "chat/completions", "createChatCompletion"),
    method: "post",
    summary: summaryOf("Create chat completion", prefix),
    dialect: "chat",
    body: chatRequest,
    answer: chatCompletion,
    media: { "text/event-stream": chatEvent },
    interaction: true,
    errors: callErrors,
  });
}
