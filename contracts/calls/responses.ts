import { z } from "@hono/zod-openapi";
import { callErrors, countErrors } from "../kernel/call_errors.ts";
import {
  maxEntries,
  openObject,
  optional,
  orNull,
  typedPart,
  upTo,
  wholeNumber,
} from "../kernel/common.ts";
import { defineContract } from "../kernel/contract.ts";
import { responseEvent, responseObject } from "./responses_stream.ts";
import { pathBelow, type PathPrefix, summaryOf } from "./vendors.ts";

const item = openObject({
  content: upTo(maxEntries.parts).optional().describe("Text, or parts."),
  summary: upTo(maxEntries.parts).optional().describe("Of reasoning."),
  output: upTo(maxEntries.parts).optional().describe("Of a tool: text, or parts."),
}).openapi("ResponsesInputItem");

/**
 * A responses request. Only what the service interprets is checked; every other field reaches a
 * vendor that speaks this dialect as it was sent.
 */
export const responsesRequest = openObject({
  model: z.string().min(1).describe(
    "On the unified endpoint `<provider>/<model_name>`, a name that one vendor has as its own, such as `gpt-5-mini`, or a virtual model's; on a vendor's family the vendor's own name.",
  ).openapi({ example: "vendor-b/gpt-5-mini" }),
  input: optional(z.union([z.string(), z.array(item).max(maxEntries.turns)])).describe(
    "Text of one user message, or the items of the conversation. Required, unless `prompt`, `conversation` or `previous_response_id` is set.",
  ),
  instructions: optional(z.string()).describe(
    "System instructions before the input; not carried over to the next turn. Default none.",
  ),
  tools: upTo(maxEntries.tools).optional().describe("What the model may call. Default none."),
  include: upTo(maxEntries.others).optional().describe("What else to include in the answer."),
  stream: optional(z.boolean()).describe("Answer as server-sent events. Default false."),
  background: optional(z.boolean()).describe(
    "Answer at once with a queued response and run the call in the background: `GET …/responses/{response_id}` shows its state. Not with `store: false`. With `stream` it is an ordinary call that goes on if the caller disconnects. Default false.",
  ),
  background_options: optional(z.looseObject({
    completion_window: orNull(z.literal("soonest")).optional().describe(
      "Background calls begin at once and cost the model's price: the vendor's discounted windows are its own background mode, which is not used.",
    ),
  })).describe("Options of a background call; has no effect. Default none."),
  store: optional(z.boolean()).describe(
    "Store the response, so that it can be retrieved and continued. Default true.",
  ),
  previous_response_id: optional(z.string().min(1)).describe(
    "Id of a stored response that this request continues. Default none.",
  ),
  max_output_tokens: optional(z.number().int().min(1)).describe(
    "Maximum tokens of the answer, reasoning included. Default: the model's limit.",
  ),
  user: optional(z.string()).describe("Older name of `safety_identifier`.").openapi({
    deprecated: true,
  }),
  safety_identifier: optional(z.string()).describe(
    "The end user, recorded as `user_id`; at most 500 characters.",
  ),
}).openapi("ResponsesRequest");

const { model, input, instructions, tools, previous_response_id } = responsesRequest.shape;

const countRequest = openObject({ model, input, instructions, tools, previous_response_id })
  .openapi("ResponsesCountRequest");

const tokenCount = z.looseObject({
  object: z.literal("response.input_tokens").describe("Always `response.input_tokens`."),
  input_tokens: z.number().int().describe("Tokens of the whole prompt."),
}).openapi("ResponsesTokenCount");

const compactRequest = openObject({
  model,
  input,
  instructions,
  previous_response_id,
  stream: orNull(z.literal(false)).optional().describe(
    "Streaming is not supported here. Default false.",
  ),
  store: orNull(z.literal(false)).optional().describe("The answer is not stored. Default false."),
}).openapi("ResponsesCompactRequest");

const compactedResponse = z.looseObject({
  id: z.string().describe(
    "Id of the answer. Not valid as `previous_response_id`: send `output` instead.",
  ),
  object: z.literal("response.compaction").describe("Always `response.compaction`."),
  created_at: z.number().int().describe("Unix time in seconds."),
  output: z.array(typedPart).describe(
    "What to send as `input` from now on: the user's messages, then the one `compaction` item.",
  ),
  usage: z.looseObject({
    input_tokens: z.number().int().describe("Tokens of the conversation."),
    output_tokens: z.number().int().describe("Tokens of the summary, reasoning included."),
    total_tokens: z.number().int().describe("Sum of both."),
  }).describe("Tokens used to write the summary."),
}).openapi("CompactedResponse");

const deletedResponse = z.strictObject({
  id: z.string().describe("Id of the deleted response."),
  object: z.literal("response").describe("Always `response`."),
  deleted: z.literal(true).describe("Always true."),
}).openapi("DeletedResponse");

const inputItemsQuery = z.object({
  order: z.enum(["asc", "desc"]).optional().describe(
    "`asc`: in the order the model read them; `desc`: latest first. Default `desc`.",
  ),
  after: z.string().optional().describe(
    "Id of the item after which the page begins. Default: the first page.",
  ).openapi({ example: "msg_0197e0c1" }),
  limit: wholeNumber({ minimum: 1, maximum: 100, default: 20 }).optional().describe(
    "Maximum items per page. Default 20.",
  ),
  include: z.array(z.string()).max(maxEntries.others).optional().describe(
    "`reasoning.encrypted_content`: reasoning with its encrypted content. Everything else is always included. Default none.",
  ),
});

const inputItemList = z.strictObject({
  object: z.literal("list").describe("Always `list`."),
  data: z.array(
    z.looseObject({
      id: z.string().describe("Id of the item: its own, or one that is valid only in this list."),
      type: z.string().describe("What it is, such as `message`."),
    }).openapi("ResponseListedItem"),
  ).describe("The items of this page."),
  first_id: orNull(z.string()).describe("Id of the page's first item; null where it has none."),
  last_id: orNull(z.string()).describe("Id of its last, for `after`; null where it has none."),
  has_more: z.boolean().describe("Whether there are more items after it."),
}).openapi("ResponseInputItemList");

function at(prefix: PathPrefix, path: string, verb: string) {
  return {
    ...pathBelow(prefix, `responses${path}`, verb),
    dialect: "responses" as const,
  };
}

/** `POST …/responses`, compaction and token counts, and the endpoints of stored responses. */
export function responsesContracts(prefix: PathPrefix) {
  return {
    ...callContracts(prefix),
    ...storedContracts(prefix),
  };
}

function callContracts(prefix: PathPrefix) {
  const refusals = ["previous_response_not_found", "previous_response_unfinished"] as const;
  return {
    create: defineContract({
      ...at(prefix, "", "createResponse"),
      method: "post",
      summary: summaryOf("Create a response", prefix),
      body: responsesRequest,
      answer: responseObject,
      media: { "text/event-stream": responseEvent },
      interaction: true,
      errors: [...callErrors, ...refusals],
    }),
    compact: defineContract({
      ...at(prefix, "/compact", "compactResponse"),
      method: "post",
      summary: summaryOf("Compact a conversation", prefix),
      description:
        "Charged like any other call. OpenAI compacts the conversation itself, so only OpenAI can read its `compaction` item; models of all other vendors are asked for a summary, which every vendor can read.",
      body: compactRequest,
      answer: compactedResponse,
      interaction: true,
      errors: [...callErrors, ...refusals],
    }),
    count: defineContract({
      ...at(prefix, "/input_tokens", "countResponseTokens"),
      method: "post",
      summary: summaryOf("Count a response's input tokens", prefix),
      description:
        "Includes the conversation that the request continues. The vendor's own count where it has one, else an estimate with `X-Token-Count: estimated`. Costs nothing.",
      body: countRequest,
      answer: tokenCount,
      errors: [...countErrors, ...refusals],
    }),
  };
}

const params = z.object({
  response_id: z.string().min(1).describe("`id` of a stored response."),
});

const getQuery = z.object({
  stream: z.enum(["true", "false"]).optional().describe(
    "Events of a stored response can't be replayed: `true` is refused.",
  ),
  include: z.array(z.string()).max(maxEntries.others).optional().describe(
    "Parts that the response must include. Only those named in `include` of its own request are stored; others are refused. Default: none.",
  ),
});

function storedContracts(prefix: PathPrefix) {
  return {
    get: defineContract({
      ...at(prefix, "/{response_id}", "getResponse"),
      method: "get",
      summary: summaryOf("Retrieve a stored response", prefix),
      description:
        "For a background response, its state: `queued`, `in_progress`, or how it ended.",
      params,
      query: getQuery,
      answer: responseObject,
      errors: ["unsupported_parameter", "response_not_found"],
    }),
    inputItems: defineContract({
      ...at(prefix, "/{response_id}/input_items", "listResponseInputItems"),
      method: "get",
      summary: summaryOf("List a response's input items", prefix),
      description:
        "The whole conversation: input and output of the preceding responses, then its own input, without `instructions`. For a background response, once it is completed.",
      params,
      query: inputItemsQuery,
      answer: inputItemList,
      errors: ["response_not_found"],
    }),
    cancel: defineContract({
      ...at(prefix, "/{response_id}/cancel", "cancelResponse"),
      method: "post",
      summary: summaryOf("Cancel a background response", prefix),
      description:
        "What was used until then is charged. A response that has ended is returned unchanged, and so is one cancelled before.",
      params,
      answer: responseObject,
      errors: ["invalid_value", "response_not_found"],
    }),
    remove: defineContract({
      ...at(prefix, "/{response_id}", "deleteResponse"),
      method: "delete",
      summary: summaryOf("Delete a stored response", prefix),
      description: "It can't be read or continued afterwards; the interaction's record stays.",
      params,
      answer: deletedResponse,
      errors: ["response_not_found"],
    }),
  };
}
