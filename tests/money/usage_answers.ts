/** Answers of each dialect with a usage that a test decides. */
import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { FakeExchange } from "../support/fake_vendor.ts";

/** The names of the two totals in a usage. */
export const totalNames: Readonly<Record<DialectName, readonly [input: string, output: string]>> = {
  chat: ["prompt_tokens", "completion_tokens"],
  responses: ["input_tokens", "output_tokens"],
  messages: ["input_tokens", "output_tokens"],
  generate: ["promptTokenCount", "candidatesTokenCount"],
};

const events = (list: readonly object[]) =>
  list.map((event) =>
    `event: ${"type" in event ? event.type : ""}\ndata: ${JSON.stringify(event)}\n\n`
  );
const data = (list: readonly object[]) => list.map((event) => `data: ${JSON.stringify(event)}\n\n`);

interface Answer {
  whole: object;
  stream: readonly string[];
}

/** What each vendor answers to have said this, whole and as a stream. */
export const answersWithUsage: Readonly<
  Record<DialectName, (usage: object, said: string) => Answer>
> = {
  chat: (usage, said) => {
    const head = { id: "c", object: "chat.completion", created: 1, model: "model" };
    const message = { role: "assistant", content: said };
    const last = { index: 0, delta: {}, finish_reason: "stop" };
    return {
      whole: { ...head, choices: [{ index: 0, message, finish_reason: "stop" }], usage },
      stream: [
        ...data([
          { ...head, choices: [{ index: 0, delta: message }] },
          { ...head, choices: [last] },
          { ...head, choices: [], usage },
        ]),
        "data: [DONE]\n\n",
      ],
    };
  },
  responses: (usage, said) => {
    const part = { type: "output_text", text: said, annotations: [] };
    const item = { id: "m", type: "message", status: "completed", role: "assistant" };
    const output = [{ ...item, content: [part] }];
    const response = { id: "r", object: "response", created_at: 1, model: "model", output: [] };
    const whole = { ...response, status: "completed", output, usage };
    const at = { item_id: "m", output_index: 0, content_index: 0 };
    return {
      whole,
      stream: events([
        { type: "response.created", response: { ...response, status: "in_progress" } },
        { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
        { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
        { type: "response.output_text.delta", ...at, delta: said },
        { type: "response.output_text.done", ...at, text: said },
        { type: "response.content_part.done", ...at, part },
        { type: "response.output_item.done", output_index: 0, item: output[0]! },
        { type: "response.completed", response: whole },
      ]),
    };
  },
  messages: (usage, said) => {
    const head = { id: "m", type: "message", role: "assistant", model: "model" };
    const end = { stop_reason: "end_turn", stop_sequence: null };
    const { input_tokens = null } = usage as { input_tokens?: number | null };
    const message = { ...head, content: [], usage: { input_tokens, output_tokens: 1 } };
    return {
      whole: { ...head, content: [{ type: "text", text: said }], ...end, usage },
      stream: events([
        { type: "message_start", message },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: said } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: end, usage },
        { type: "message_stop" },
      ]),
    };
  },
  generate: (usageMetadata, said) => {
    const content = { role: "model", parts: [{ text: said }] };
    const candidate = { index: 0, content, finishReason: "STOP" };
    const whole = { candidates: [candidate], modelVersion: "model", usageMetadata };
    return { whole, stream: data([whole]) };
  },
};

/** A script that gives one of them. */
export function answering({ whole, stream }: Answer, streams: boolean) {
  return async (exchange: FakeExchange) => {
    if (streams) await exchange.stream([...stream], { "content-type": "text/event-stream" });
    else {
      await exchange.answer(200, JSON.stringify(whole), { "content-type": "application/json" });
    }
  };
}
