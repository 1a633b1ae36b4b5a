import type { VendorRequest } from "./vendor.ts";

export type VendorDialect = "chat" | "messages" | "responses" | "generate" | "embeddings";

interface Answers {
  readonly whole: unknown;
  readonly events: readonly string[];
  readonly errorEvent: string;
}

const data = (json: object) => `data: ${JSON.stringify(json)}\n\n`;
const named = (json: { type: string }) => `event: ${json.type}\n${data(json)}`;

/** The answer that repeats the request's marker, whole and as events. */
export function answersOf(
  request: Pick<VendorRequest, "dialect" | "marker" | "usage">,
  hasUsage = true,
): Answers {
  const { input, output } = request.usage ?? { input: 0, output: 0 };
  return makers[request.dialect](`You said ${request.marker}.`, input, output, hasUsage);
}

type Make = (text: string, input: number, output: number, hasUsage: boolean) => Answers;

const makers: Readonly<Record<VendorDialect, Make>> = {
  chat(text, input, output, hasUsage) {
    const base = { id: "c-1", created: 1, model: "m" };
    const usage = hasUsage
      ? {
        usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
      }
      : {};
    const chunk = (fields: object) => data({ ...base, object: "chat.completion.chunk", ...fields });
    return {
      whole: {
        ...base,
        object: "chat.completion",
        choices: [{
          index: 0,
          message: { role: "assistant", content: text },
          finish_reason: "stop",
          logprobs: null,
        }],
        ...usage,
      },
      events: [
        chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "" } }] }),
        ...halves(text).map((content) => chunk({ choices: [{ index: 0, delta: { content } }] })),
        chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
        chunk({ choices: [], ...usage }),
        "data: [DONE]\n\n",
      ],
      errorEvent: data({ error: { message: "The server is busy", type: "server_error" } }),
    };
  },
  messages(text, input, output, hasUsage) {
    const base = { id: "msg_1", type: "message", role: "assistant", model: "m" };
    const usage = hasUsage ? { input_tokens: input, output_tokens: output } : undefined;
    const events = [
      {
        type: "message_start",
        message: {
          ...base,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          ...(usage ? { usage: { ...usage, output_tokens: 1 } } : {}),
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      ...halves(text).map((half) => ({
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text: half },
      })),
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        ...(usage ? { usage: { output_tokens: output } } : {}),
      },
      { type: "message_stop" },
    ];
    return {
      whole: {
        ...base,
        content: [{ type: "text", text }],
        stop_reason: "end_turn",
        stop_sequence: null,
        ...(usage ? { usage } : {}),
      },
      events: events.map(named),
      errorEvent: named({
        type: "error",
        error: { type: "overloaded_error", message: "Overloaded" },
      } as { type: string }),
    };
  },
  responses(text, input, output, hasUsage) {
    const part = (words: string) => ({ type: "output_text", text: words, annotations: [] });
    const item = (words: string, status: string) => ({
      type: "message",
      id: "msg_1",
      status,
      role: "assistant",
      content: words === "" ? [] : [part(words)],
    });
    const response = (status: string, more: object) => ({
      id: "resp_vendor",
      object: "response",
      created_at: 1,
      status,
      model: "m",
      error: null,
      incomplete_details: null,
      output: [],
      usage: null,
      ...more,
    });
    const done = response("completed", {
      output: [item(text, "completed")],
      usage: hasUsage
        ? {
          input_tokens: input,
          output_tokens: output,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: input + output,
        }
        : null,
    });
    const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
    const events = [
      { type: "response.created", response: response("in_progress", {}) },
      { type: "response.output_item.added", output_index: 0, item: item("", "in_progress") },
      { type: "response.content_part.added", ...place, part: part("") },
      ...halves(text).map((delta) => ({ type: "response.output_text.delta", ...place, delta })),
      { type: "response.output_text.done", ...place, text },
      { type: "response.content_part.done", ...place, part: part(text) },
      { type: "response.output_item.done", output_index: 0, item: item(text, "completed") },
      { type: "response.completed", response: done },
    ].map((event, sequence_number) => named(Object.assign(event, { sequence_number })));
    return {
      whole: done,
      events,
      errorEvent: named({
        type: "error",
        code: "server_error",
        message: "Busy",
        param: null,
        sequence_number: 3,
      } as { type: string }),
    };
  },
  generate(text, input, output, hasUsage) {
    const usage = hasUsage
      ? {
        usageMetadata: {
          promptTokenCount: input,
          candidatesTokenCount: output,
          totalTokenCount: input + output,
        },
      }
      : {};
    const piece = (words: string, more: object) => ({
      candidates: [{ content: { role: "model", parts: [{ text: words }] }, index: 0, ...more }],
      ...usage,
      modelVersion: "m",
    });
    const [first = "", second = ""] = halves(text);
    return {
      whole: piece(text, { finishReason: "STOP" }),
      events: [data(piece(first, {})), data(piece(second, { finishReason: "STOP" }))],
      errorEvent: data({ error: { code: 503, message: "Busy", status: "UNAVAILABLE" } }),
    };
  },
  embeddings: (_text, input, _output, hasUsage) => ({
    whole: {
      object: "list",
      model: "m",
      data: [{ object: "embedding", index: 0, embedding: [0.25, -0.5] }],
      ...(hasUsage ? { usage: { prompt_tokens: input, total_tokens: input } } : {}),
    },
    events: [],
    errorEvent: "",
  }),
};

function halves(text: string): [string, string] {
  return [text.slice(0, 5), text.slice(5)];
}
