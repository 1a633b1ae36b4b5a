import type { ChatCompletionChunk } from "openai/resources/chat/completions/completions";
import { type StreamScript } from "./answers.ts";
import { annotationsOf, type ChatAnswer, finishReason, reasoningMembers } from "./chat_answer.ts";
import { type JsonObject } from "./json.ts";
import { logprobOf } from "./logprobs.ts";
import { fragments, type Output } from "./model.ts";
import { type Problem } from "./problem.ts";
import { hexOf, tokenize } from "./tokens.ts";

type Choice = ChatCompletionChunk.Choice;
type Delta = ChatCompletionChunk.Choice.Delta & JsonObject;

interface Options {
  /** The stream has a usage chunk. */
  hasUsage: boolean;
  /** The earlier chunks carry `usage: null`. */
  marksUsage: boolean;
  isObfuscated: boolean;
  failure: Problem;
}

/** The stream of an answer: role, reasoning, text, calls, finish, usage, `[DONE]`. */
export function chatScript(answer: ChatAnswer, options: Options): StreamScript {
  const { vendor } = answer;
  const frames: string[] = [];
  const write = (choices: Choice[], extra: JsonObject = {}) => {
    const chunk: ChatCompletionChunk = {
      id: answer.id,
      object: "chat.completion.chunk",
      created: answer.created,
      model: answer.model,
      ...vendor.extras,
      choices,
      ...(options.marksUsage ? { usage: null } : {}),
      ...extra,
    };
    const padding = options.isObfuscated && choices.length > 0
      ? { obfuscation: hexOf(`${answer.id}${frames.length}`, 3 + (frames.length % 9)) }
      : {};
    frames.push(`data: ${JSON.stringify({ ...chunk, ...padding })}\n\n`);
    if (vendor.comment && frames.length % 5 === 0) frames.push(vendor.comment);
  };
  if (vendor.comment) frames.push(vendor.comment);
  answer.outputs.forEach((output, index) => {
    for (const piece of pieces(answer, output)) {
      write([{ index, delta: piece.delta, ...piece.logprobs, finish_reason: null }]);
    }
  });
  const before = frames.length;
  answer.outputs.forEach((output, index) =>
    write([{ index, delta: {}, finish_reason: finishReason(answer, output) }])
  );
  if (options.hasUsage) write([], { usage: answer.usage });
  frames.push("data: [DONE]\n\n");
  return {
    contentType: "text/event-stream; charset=utf-8",
    frames,
    closing: frames.length - before,
    errorFrame: errorFrame(answer, options.failure),
  };
}

interface Piece {
  delta: Delta;
  logprobs: { logprobs: ChatCompletionChunk.Choice.Logprobs | null } | Record<string, never>;
}

function* pieces(answer: ChatAnswer, output: Output): Generator<Piece> {
  const { vendor, topLogprobs } = answer;
  const plain = (delta: Delta): Piece => ({
    delta,
    logprobs: vendor.isStrict ? { logprobs: null } : {},
  });
  yield plain({
    role: "assistant",
    content: "",
    ...(vendor.hasRefusalField ? { refusal: null } : {}),
  });
  if (answer.isReasoningVisible) {
    for (const text of output.reasoning.chunks) yield plain(reasoningMembers(vendor, text));
  }
  for (const content of output.chunks) {
    if (topLogprobs === null) yield plain({ content });
    else {
      const tokens = tokenize(content).map((token) => logprobOf(token, topLogprobs));
      yield { delta: { content }, logprobs: { logprobs: { content: tokens, refusal: null } } };
    }
  }
  const annotations = annotationsOf(output);
  if (annotations.length > 0) yield plain({ annotations });
  for (const text of output.refusal === null ? [] : fragments(output.refusal)) {
    yield plain(vendor.hasRefusalField ? { refusal: text } : { content: text });
  }
  for (const delta of callDeltas(answer, output)) yield plain(delta);
}

function* callDeltas(answer: ChatAnswer, output: Output): Generator<Delta> {
  for (const [index, call] of output.calls.entries()) {
    const { name } = call;
    if (answer.isLegacy) {
      yield { function_call: { name, arguments: "" } };
      for (const text of fragments(call.input)) yield { function_call: { arguments: text } };
      continue;
    }
    const id = answer.callId();
    if (call.isFreeText) {
      yield { tool_calls: [{ index, id, type: "custom", custom: { name, input: "" } }] };
      for (const input of fragments(call.input)) {
        yield { tool_calls: [{ index, custom: { input } }] };
      }
      continue;
    }
    if (answer.vendor.streamsWholeCalls) {
      const whole = { name, arguments: call.input };
      yield { tool_calls: [{ index, id, type: "function", function: whole }] };
      continue;
    }
    yield { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] };
    for (const text of fragments(call.input)) {
      yield { tool_calls: [{ index, function: { arguments: text } }] };
    }
  }
}

function errorFrame(answer: ChatAnswer, failure: Problem): string {
  const { vendor } = answer;
  const error = vendor.errorBody(failure);
  // The aggregator's in-band error is a chunk with an error in it; others send only the error.
  const chunk = vendor.hidesErrors
    ? {
      id: answer.id,
      object: "chat.completion.chunk",
      created: answer.created,
      model: answer.model,
      ...vendor.extras,
      error: error.error,
      choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
    }
    : error;
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
