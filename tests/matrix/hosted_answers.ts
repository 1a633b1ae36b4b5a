import type { DialectName } from "../../contracts/calls/vendors.ts";

type Json = Readonly<Record<string, unknown>>;

/** Tokens that every answer reports for its own model. */
export const tokens = { input: 2000, output: 300 } as const;

const { input, output } = tokens;

/** A vendor's whole answer that reports this work beside its tokens. */
export function hostedAnswer(dialect: DialectName, report: Json): Json {
  return whole[dialect](report);
}

const whole: Readonly<Record<DialectName, (report: Json) => Json>> = {
  responses: ({ usage, output: items = [], ...rest }) => ({
    id: `resp_${crypto.randomUUID()}`,
    object: "response",
    created_at: 1_790_000_000,
    status: "completed",
    model: "model-x",
    error: null,
    output: [...items as Json[], {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Done.", annotations: [] }],
    }],
    usage: {
      input_tokens: input,
      output_tokens: output,
      total_tokens: input + output,
      ...usage as Json ?? {},
    },
    ...rest,
  }),
  messages: (report) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "model-x",
    content: [{ type: "text", text: "Done." }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: input, output_tokens: output, ...report },
  }),
  generate: (report) => ({
    candidates: [{
      content: { role: "model", parts: [{ text: "Done." }] },
      finishReason: "STOP",
      index: 0,
      ...report,
    }],
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: output,
      totalTokenCount: input + output,
    },
    modelVersion: "gemini-3.8-flash",
  }),
  chat: (report) => ({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_790_000_000,
    model: "model-x",
    choices: [{
      index: 0,
      message: { role: "assistant", content: "Done." },
      finish_reason: "stop",
    }],
    usage: {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      ...report,
    },
  }),
};

/** The same as a stream. */
export function hostedEvents(dialect: DialectName, report: Json): string[] {
  return streamed[dialect](whole[dialect](report));
}

const streamed: Readonly<Record<DialectName, (answer: Json) => string[]>> = {
  responses(answer) {
    const begun = { ...answer, status: "in_progress", output: [], usage: null, tool_usage: null };
    return [
      event("response.created", { response: begun }),
      ...(answer.output as Json[]).flatMap((item, output_index) => [
        event("response.output_item.added", { output_index, item }),
        event("response.output_item.done", { output_index, item }),
      ]),
      event("response.completed", { response: answer }),
    ];
  },
  messages(answer) {
    const usage = { input_tokens: input, output_tokens: 1 };
    const message = { ...answer, content: [], stop_reason: null, usage };
    return [
      event("message_start", { message }),
      event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
      event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Done." } }),
      event("content_block_stop", { index: 0 }),
      event("message_delta", {
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: answer.usage,
      }),
      event("message_stop", {}),
    ];
  },
  generate: (answer) => [data(answer)],
  chat(answer) {
    const chunk = { ...answer, object: "chat.completion.chunk", usage: null };
    const choice = (delta: Json, finish_reason: string | null) => [{
      index: 0,
      delta,
      finish_reason,
    }];
    return [
      data({ ...chunk, choices: choice({ role: "assistant", content: "Done." }, null) }),
      data({ ...chunk, choices: choice({}, "stop") }),
      data({ ...chunk, choices: [], usage: answer.usage }),
      "data: [DONE]\n\n",
    ];
  },
};

function event(type: string, more: Json): string {
  return `event: ${type}\n${data({ type, sequence_number: 0, ...more })}`;
}

function data(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
