import { z } from "@hono/zod-openapi";
import { optional, typedPart } from "../kernel/common.ts";

/** The whole answer; a stream begins with it, still without output, and ends with it. */
export const responseObject = z.looseObject({
  id: z.string().describe("Id of the response; send it as `previous_response_id` to continue."),
  object: z.literal("response").describe("Always `response`."),
  created_at: z.number().int().describe("Unix time in seconds."),
  status: z.string().describe(
    "`completed`, `incomplete`, `failed`; of a background response also `queued`, `in_progress`, `cancelled`.",
  ),
  model: z.string().describe("The model that the vendor reports it used."),
  output: z.array(typedPart).describe(
    "What the model produced, in order: messages, reasoning, function calls.",
  ),
}).openapi("ResponseObject");

const sequence = {
  sequence_number: z.number().int().describe("Position in the stream, from 0."),
};
const atItem = {
  output_index: z.number().int().describe("Position of the item in `output`, from 0."),
};
const inItem = { ...atItem, item_id: z.string().describe("Id of the item.") };
const inPart = {
  ...inItem,
  content_index: z.number().int().describe("Position of the part in the item, from 0."),
};

/** The content of a stream's `data:` lines. */
export const responseEvent = z.union([
  z.looseObject({
    type: z.enum([
      "response.created",
      "response.queued",
      "response.in_progress",
      "response.completed",
      "response.incomplete",
      "response.failed",
    ]).describe("State of the whole response; one of the last three ends the stream."),
    ...sequence,
    response: responseObject.describe("The response so far; complete at the end."),
  }).openapi("ResponseStateEvent"),
  z.looseObject({
    type: z.enum(["response.output_item.added", "response.output_item.done"]).describe(
      "An item begins or is complete.",
    ),
    ...sequence,
    ...atItem,
    item: typedPart.describe("The item so far."),
  }).openapi("ResponseItemEvent"),
  z.looseObject({
    type: z.enum(["response.content_part.added", "response.content_part.done"]).describe(
      "A part of an item begins or is complete.",
    ),
    ...sequence,
    ...inPart,
    part: typedPart.describe("The part so far."),
  }).openapi("ResponsePartEvent"),
  z.looseObject({
    type: z.enum([
      "response.output_text.delta",
      "response.refusal.delta",
      "response.reasoning_text.delta",
    ]).describe("The next piece of a part."),
    ...sequence,
    ...inPart,
    delta: z.string().describe("The next piece of the text."),
  }).openapi("ResponseTextDeltaEvent"),
  z.looseObject({
    type: z.enum([
      "response.function_call_arguments.delta",
      "response.custom_tool_call_input.delta",
    ]).describe("The next piece of a call."),
    ...sequence,
    ...inItem,
    delta: z.string().describe("The next piece of the arguments' text."),
  }).openapi("ResponseCallDeltaEvent"),
  z.looseObject({
    type: z.literal("response.reasoning_summary_text.delta").describe(
      "The next piece of a summary.",
    ),
    ...sequence,
    ...inItem,
    summary_index: z.number().int().describe("Position of the summary in the item, from 0."),
    delta: z.string().describe("The next piece of the summary."),
  }).openapi("ResponseSummaryDeltaEvent"),
  z.looseObject({
    type: z.literal("error").describe("The stream failed and ends here."),
    ...sequence,
    code: optional(z.string()).describe("What went wrong, for programs."),
    message: z.string().describe("What went wrong, for people."),
    param: optional(z.string()).describe("Path of the invalid field."),
  }).openapi("ResponseErrorEvent"),
  z.looseObject({
    type: z.string().describe(
      "Name of another event, such as `response.output_text.done` or one that a vendor has added since.",
    ),
  }).openapi("ResponseOtherEvent"),
]).openapi("ResponseStreamEvent");
