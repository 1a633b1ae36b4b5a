import { z } from "@hono/zod-openapi";
import { optional, typedPart } from "../kernel/common.ts";

/** The whole answer; a stream begins with it too, still without content. */
export const messageObject = z.looseObject({
  id: z.string().describe("The vendor's id of the answer, or ours if it has none."),
  type: z.literal("message").describe("Always `message`."),
  role: z.literal("assistant").describe("Always `assistant`."),
  model: z.string().describe("The model that the vendor reports it used."),
  content: z.array(typedPart).describe("Blocks of the answer: text, thinking, tool use."),
  stop_reason: z.string().nullable().describe(
    "Why it ended: `end_turn`, `max_tokens`, `stop_sequence`, `tool_use`, `refusal`, …",
  ),
  usage: z.looseObject({
    input_tokens: z.number().int().describe("Tokens of the prompt, cached parts not included."),
    output_tokens: z.number().int().describe("Tokens of the answer, thinking included."),
  }).describe("Tokens of the call; cached parts of the prompt are in separate fields."),
}).openapi("Message");

const index = z.number().int().describe("Position of the block, from 0.");

const blockDelta = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("text_delta").describe("Of a text block."),
    text: z.string().describe("The next piece of the text."),
  }),
  z.looseObject({
    type: z.literal("input_json_delta").describe("Of a tool use."),
    partial_json: z.string().describe("The next piece of the input's JSON text."),
  }),
  z.looseObject({
    type: z.literal("thinking_delta").describe("Of a thinking block."),
    thinking: z.string().describe("The next piece of the thinking."),
  }),
  z.looseObject({
    type: z.literal("signature_delta").describe("Of a thinking block, at its end."),
    signature: z.string().describe("The vendor's signature of the thinking."),
  }),
  z.looseObject({
    type: z.literal("citations_delta").describe("Of a text block."),
    citation: z.looseObject({}).describe("A source of the text."),
  }),
]).openapi("MessageBlockDelta");

/** The content of a stream's `data:` lines. */
export const messageEvent = z.union([
  z.looseObject({
    type: z.literal("message_start").describe("The first event."),
    message: messageObject.describe("The answer so far: without blocks."),
  }).openapi("MessageStartEvent"),
  z.looseObject({
    type: z.literal("content_block_start").describe("A block begins."),
    index,
    content_block: typedPart.describe("The block so far."),
  }).openapi("MessageBlockStartEvent"),
  z.looseObject({
    type: z.literal("content_block_delta").describe("The next piece of a block."),
    index,
    delta: blockDelta.describe("The new part."),
  }).openapi("MessageBlockDeltaEvent"),
  z.looseObject({ type: z.literal("content_block_stop").describe("A block ends."), index })
    .openapi("MessageBlockStopEvent"),
  z.looseObject({
    type: z.literal("message_delta").describe("The answer is about to end."),
    delta: z.looseObject({
      stop_reason: optional(z.string()).describe("Why the answer ended."),
      stop_sequence: optional(z.string()).describe("The stop sequence that ended it."),
    }).describe("Changes to the answer as a whole."),
    usage: z.looseObject({
      input_tokens: optional(z.number().int()).describe("Tokens of the prompt, in all."),
      output_tokens: optional(z.number().int()).describe("Tokens of the answer, in all."),
    }).optional().describe("Totals, not additions."),
  }).openapi("MessageDeltaEvent"),
  z.looseObject({ type: z.literal("message_stop").describe("The last event.") })
    .openapi("MessageStopEvent"),
  z.looseObject({ type: z.literal("ping").describe("Keeps the connection alive.") })
    .openapi("MessagePingEvent"),
  z.looseObject({
    type: z.literal("error").describe("The stream failed and ends here."),
    error: z.looseObject({
      type: z.string().describe("Class of the error, from this dialect's list."),
      message: z.string().describe("What went wrong, for people."),
      code: optional(z.string()).describe("What went wrong, for programs."),
    }).describe("The error."),
  }).openapi("MessageErrorEvent"),
  z.looseObject({
    type: z.string().describe("Name of an event that a vendor has added since: ignore it."),
  }).openapi("MessageOtherEvent"),
]).openapi("MessageStreamEvent");
