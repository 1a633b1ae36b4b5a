/** Small vendor answers for cases, and what a caller of another dialect sees of them. */
import { type ChoiceFacts, factsSaid } from "./facts.ts";
import { bytesOf, checkStream, type Passage, relayStream } from "./translated.ts";
import { framesOf, type Payload } from "./recordings.ts";
import type { AnswerContent } from "../support/grammar/answer_content.ts";

/** What the caller's stream says, by its grammar. */
export function said(passage: Passage, payloads: readonly Payload[]): AnswerContent {
  return checkStream(passage, relayStream(passage, framesOf(passage.vendor, payloads)).text);
}

/** The one answer of the caller's stream. */
export function told(passage: Passage, payloads: readonly Payload[]): ChoiceFacts {
  return factsSaid(said(passage, payloads)).choices[0]!;
}

/** The payloads of the caller's stream. */
export function wire(passage: Passage, payloads: readonly Payload[]): Payload[] {
  const { text } = relayStream(passage, framesOf(passage.vendor, payloads));
  return payloadsOf(text);
}

/** The same for a vendor's stream as text. */
export function wireOf(passage: Passage, stream: string): Payload[] {
  return payloadsOf(relayStream(passage, [bytesOf(stream)]).text);
}

function payloadsOf(text: string): Payload[] {
  return [...text.matchAll(/^data: (\{[^]*?\})\r?$/gm)].map(([, json]) => JSON.parse(json!));
}

// Vendors' streams.

/** A block of a messages answer: text, thinking, or a call with its name and pieces of input. */
export type Block =
  | readonly ["text" | "thinking", string]
  | readonly ["tool_use", string, ...string[]];

export function messagesAnswer(
  blocks: readonly (Block | Payload)[],
  stopReason: string,
  usage: { start: Payload; end: Payload } = {
    start: { input_tokens: 3, output_tokens: 1 },
    end: { output_tokens: 5 },
  },
): Payload[] {
  const message = { id: "msg_up", content: [], stop_reason: null, usage: usage.start };
  return [
    { type: "message_start", message },
    ...blocks.flatMap(blockEvents),
    { type: "message_delta", delta: { stop_reason: stopReason }, usage: usage.end },
    { type: "message_stop" },
  ];
}

function blockEvents(block: Block | Payload, index: number): Payload[] {
  const start = (content_block: Payload) => ({ type: "content_block_start", index, content_block });
  const delta = (value: Payload) => ({ type: "content_block_delta", index, delta: value });
  const stop = { type: "content_block_stop", index };
  if (!isBlock(block)) return [start(block), stop];
  const [type, first, ...pieces] = block;
  if (type === "tool_use") {
    return [
      start({ type, id: `toolu_${index}`, name: first, input: {} }),
      ...pieces.map((partial_json) => delta({ type: "input_json_delta", partial_json })),
      stop,
    ];
  }
  return type === "text"
    ? [start({ type, text: "" }), delta({ type: "text_delta", text: first }), stop]
    : [
      start({ type, thinking: "", signature: "" }),
      delta({ type: "thinking_delta", thinking: first }),
      delta({ type: "signature_delta", signature: "c2ln" }),
      stop,
    ];
}

function isBlock(value: Block | Payload): value is Block {
  return Array.isArray(value);
}

/** A chat stream of these deltas, with a finish and a usage chunk. */
export function chatAnswer(deltas: readonly Payload[], finish: string): Payload[] {
  const chunk = (delta: Payload, finish_reason: string | null) => ({
    id: "up",
    object: "chat.completion.chunk",
    created: 1,
    model: "vendor",
    choices: [{ index: 0, delta, finish_reason }],
  });
  return [
    ...deltas.map((delta) => chunk(delta, null)),
    chunk({}, finish),
    {
      id: "up",
      choices: [],
      usage: { prompt_tokens: 30, completion_tokens: 5, total_tokens: 35 },
    },
  ];
}

export function toolDelta(more: Payload): Payload {
  return { tool_calls: [more] };
}

/** An element of a generate stream with one candidate. */
export function element(parts: readonly unknown[], more: Payload = {}): Payload {
  const { finishReason, ...rest } = more;
  return {
    candidates: [{ content: { role: "model", parts }, ...(finishReason ? { finishReason } : {}) }],
    usageMetadata: { promptTokenCount: 2, totalTokenCount: 2 },
    modelVersion: "gemini-3-flash",
    responseId: "up",
    ...rest,
  };
}

/** A responses stream: these events between the start and the end. */
export function responsesAnswer(events: readonly Payload[], last: Payload = {}): Payload[] {
  const status = typeof last.status === "string" ? last.status : "completed";
  const response = { id: "resp_up", object: "response", model: "vendor", output: [] };
  const usage = { input_tokens: 4, output_tokens: 2, total_tokens: 6 };
  return [
    { type: "response.created", response: { ...response, status: "in_progress" } },
    ...events,
    { type: `response.${status}`, response: { ...response, status, usage, ...last } },
  ];
}
