import type { DialectName } from "../../contracts/calls/vendors.ts";

/** What a vendor of each dialect says, for scripts: an answer of 10 tokens in and 5 out. */
export interface VendorWords {
  /** A whole answer. */
  whole: Readonly<Record<string, unknown>>;
  /** The same as a stream's events: the first ones, with some text… */
  begin: readonly string[];
  /** …the rest of the text and the end. */
  end: readonly string[];
  /** An error in place of the end. */
  error: string;
  /** The same error as the whole body. */
  errorBody: Readonly<Record<string, unknown>>;
  /** What the caller's HTTP status is, when this error comes before an answer began. */
  errorStatus: 502 | 503;
}

export const spokenText = "I am well.";

const message = "The model is overloaded right now";
const chunk = (fields: object) =>
  `data: ${
    JSON.stringify({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1_700_000_000,
      model: "model-x-1",
      ...fields,
    })
  }\n\n`;
const chatUsage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const chat: VendorWords = {
  whole: {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "model-x-1",
    choices: [{
      index: 0,
      message: { role: "assistant", content: spokenText },
      finish_reason: "stop",
    }],
    usage: chatUsage,
  },
  begin: [
    chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "" } }] }),
    chunk({ choices: [{ index: 0, delta: { content: "I am" } }] }),
  ],
  end: [
    chunk({ choices: [{ index: 0, delta: { content: " well." } }] }),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
    chunk({ choices: [], usage: chatUsage }),
    "data: [DONE]\n\n",
  ],
  error: `data: ${JSON.stringify({ error: { message, type: "server_error", code: null } })}\n\n`,
  errorBody: { error: { message, type: "server_error", code: null } },
  errorStatus: 502,
};

const responseUsage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
};
const item = (text: string, status: string) => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status,
  content: text === "" ? [] : [{ type: "output_text", text, annotations: [], logprobs: [] }],
});
const response = (fields: object) => ({
  id: "resp_1",
  object: "response",
  created_at: 1_700_000_000,
  model: "model-x-1",
  error: null,
  incomplete_details: null,
  ...fields,
});
const wholeResponse = response({
  status: "completed",
  output: [item(spokenText, "completed")],
  usage: responseUsage,
});
const numbered = (first: number, ...events: { type: string; [name: string]: unknown }[]) =>
  events.map((event, index) => {
    const data = JSON.stringify({ ...event, sequence_number: first + index });
    return `event: ${event.type}\ndata: ${data}\n\n`;
  });
const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
const part = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
const failure = { type: "server_error", code: "server_error", message, param: null };
const responses: VendorWords = {
  whole: wholeResponse,
  begin: numbered(
    0,
    { type: "response.created", response: response({ status: "in_progress", output: [] }) },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: item("", "in_progress"),
    },
    { type: "response.content_part.added", ...place, part: part("") },
    { type: "response.output_text.delta", ...place, delta: "I am", logprobs: [] },
  ),
  end: numbered(
    4,
    { type: "response.output_text.delta", ...place, delta: " well.", logprobs: [] },
    { type: "response.output_text.done", ...place, text: spokenText, logprobs: [] },
    { type: "response.content_part.done", ...place, part: part(spokenText) },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: item(spokenText, "completed"),
    },
    { type: "response.completed", response: wholeResponse },
  ),
  error: `event: error\ndata: ${
    JSON.stringify({ ...failure, type: "error", sequence_number: 4 })
  }\n\n`,
  errorBody: { error: failure },
  errorStatus: 502,
};

const event = (value: { type: string; [name: string]: unknown }) =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
const messageFields = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "model-x-1",
  stop_sequence: null,
};
const messagesError = { type: "error", error: { type: "overloaded_error", message } };
const messages: VendorWords = {
  whole: {
    ...messageFields,
    content: [{ type: "text", text: spokenText }],
    stop_reason: "end_turn",
    usage: { input_tokens: 10, output_tokens: 5 },
  },
  begin: [
    event({
      type: "message_start",
      message: {
        ...messageFields,
        content: [],
        stop_reason: null,
        usage: { input_tokens: 10, output_tokens: 1 },
      },
    }),
    event({
      type: "content_block_start",
      index: 0,
      content_block: { type: "text", text: "" },
    }),
    event({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: "I am" },
    }),
  ],
  end: [
    event({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: " well." },
    }),
    event({ type: "content_block_stop", index: 0 }),
    event({
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: 5 },
    }),
    event({ type: "message_stop" }),
  ],
  error: event(messagesError),
  errorBody: messagesError,
  errorStatus: 503,
};

const element = (text: string, more: object = {}, finishReason?: string) => ({
  candidates: [{
    content: { role: "model", parts: [{ text }] },
    index: 0,
    ...(finishReason === undefined ? {} : { finishReason }),
  }],
  modelVersion: "model-x-1",
  responseId: "g-1",
  ...more,
});
const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
const generateError = { error: { code: 503, message, status: "UNAVAILABLE" } };
const data = (value: object) => `data: ${JSON.stringify(value)}\r\n\r\n`;
const generate: VendorWords = {
  whole: element(spokenText, { usageMetadata }, "STOP"),
  begin: [data(element("I am"))],
  end: [data(element(" well.", { usageMetadata }, "STOP"))],
  error: data(generateError),
  errorBody: generateError,
  errorStatus: 503,
};

export const vendorWords: Readonly<Record<DialectName, VendorWords>> = {
  chat,
  responses,
  messages,
  generate,
};
