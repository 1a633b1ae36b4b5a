import { z } from "@hono/zod-openapi";
import { callErrors, countErrors } from "../kernel/call_errors.ts";
import { maxEntries, openObject, optional, upTo } from "../kernel/common.ts";
import { defineContract } from "../kernel/contract.ts";
import { messageEvent, messageObject } from "./messages_stream.ts";
import { pathBelow, type PathPrefix, summaryOf } from "./vendors.ts";

const block = openObject({
  type: z.string().describe("What it is, such as `text`."),
  content: upTo(maxEntries.parts).optional().describe("Blocks within it, such as a tool's answer."),
}).openapi("MessagesBlock");

const message = openObject({
  role: z.enum(["user", "assistant", "system"]).describe("Author of the message."),
  content: optional(z.union([z.string(), z.array(block).max(maxEntries.parts)])).describe(
    "Text, or an array of blocks. Required, unless a message of the role `system` only changes the `output_config` of the turns after it.",
  ),
}).openapi("MessagesMessage");

/**
 * A messages request. Only what the service interprets is checked; every other field reaches a
 * vendor that speaks this dialect as it was sent.
 */
export const messagesRequest = openObject({
  model: z.string().min(1).describe(
    "On the unified endpoint `<provider>/<model_name>`, a name that one vendor has as its own, such as `gpt-5-mini`, or a virtual model's; on a vendor's family the vendor's own name.",
  ).openapi({ example: "vendor-c/claude-haiku-5-5" }),
  max_tokens: z.number().int().min(0).describe(
    "Maximum tokens of the answer, thinking included. Required; no default.",
  ),
  messages: z.array(message).max(maxEntries.turns).describe(
    "The conversation so far, oldest first: at least one message, unless `thread` continues one.",
  ),
  thread: optional(openObject({})).describe(
    '`{"type": "create"}` makes the service store the conversation; `{"type": "continue", "previous_message_id": "…"}` continues it with new messages only, with its `system` and `tools`. An unknown id is a 400 with `details.error_code: "thread_not_found"`. Default none.',
  ),
  compaction: optional(openObject({})).describe(
    '`{"type": "summarize"}` asks for a summary of the conversation in place of an answer: one block `compaction`, which replaces the conversation in later requests. `instructions` replace the question to the model. Default none.',
  ),
  system: optional(z.union([z.string(), z.array(openObject({})).max(maxEntries.parts)])).describe(
    "System prompt: text, or an array of text blocks. Default none.",
  ),
  tools: upTo(maxEntries.tools).optional().describe("What the model may call. Default none."),
  stop_sequences: upTo(maxEntries.others).optional().describe(
    "Texts that end the answer. Default none.",
  ),
  mcp_servers: upTo(maxEntries.others).optional().describe("MCP servers with tools. Default none."),
  stream: optional(z.boolean()).describe("Answer as server-sent events. Default false."),
  metadata: optional(z.looseObject({
    user_id: optional(z.string()).describe(
      "The end user, recorded as `user_id`; at most 500 characters.",
    ),
  })).describe("`user_id` is recorded as the end user."),
}).openapi("MessagesRequest");

const countRequest = openObject({
  model: z.string().min(1).describe("As in a messages request.").openapi({
    example: "vendor-c/claude-haiku-5-5",
  }),
  messages: z.array(message).min(1).max(maxEntries.turns).describe("The conversation to count."),
  system: upTo(maxEntries.parts).optional().describe("As in a messages request."),
  tools: upTo(maxEntries.tools).optional().describe("As in a messages request."),
}).openapi("MessagesCountRequest");

const tokenCount = z.looseObject({
  input_tokens: z.number().int().describe("Tokens of the whole prompt."),
}).openapi("MessagesTokenCount");

/** `POST …/messages` and `…/messages/count_tokens`. */
export function messagesContracts(prefix: PathPrefix) {
  const shared = { method: "post", dialect: "messages" } as const;
  return {
    create: defineContract({
      ...shared,
      ...pathBelow(prefix, "messages", "createMessage"),
      summary: summaryOf("Create a message", prefix),
      body: messagesRequest,
      answer: messageObject,
      media: { "text/event-stream": messageEvent },
      interaction: true,
      errors: callErrors,
    }),
    count: defineContract({
      ...shared,
      ...pathBelow(prefix, "messages/count_tokens", "countMessageTokens"),
      summary: summaryOf("Count a message's tokens", prefix),
      description:
        "The vendor's own count where it has one, else an estimate with `X-Token-Count: estimated`. Costs nothing.",
      body: countRequest,
      answer: tokenCount,
      errors: countErrors,
    }),
  };
}
