/** The chat dialect: `POST /chat/completions`, whole and streamed. */
import type {
  ChatCompletion,
  ChatCompletionMessage,
} from "openai/resources/chat/completions/completions";
import { answerStream, answerWhole } from "./answers.ts";
import { refuseMarks } from "./breakpoints.ts";
import { readBehaviours } from "./behaviours.ts";
import { annotationsOf, type ChatAnswer, finishReason, reasoningMembers } from "./chat_answer.ts";
import { checkChatRequest, readChatPrompt, refuseReserved } from "./chat_request.ts";
import { chatScript } from "./chat_stream.ts";
import {
  type ChatVendor,
  countAll,
  findModel,
  reasoningWish,
  refuseForReasoning,
  refuseTools,
} from "./chat_vendor.ts";
import { admit, bodyOf, type Exchange, headerNames } from "./exchange.ts";
import { asNumber, asObject, type JsonObject } from "./json.ts";
import { logprobOf } from "./logprobs.ts";
import { type Output, think } from "./model.ts";
import { invalid } from "./openai_problems.ts";
import { Problem } from "./problem.ts";
import { unixSeconds } from "./timing.ts";
import { tokenize } from "./tokens.ts";

export async function chatCompletions(exchange: Exchange, vendor: ChatVendor): Promise<Response> {
  const body = bodyOf(exchange);
  checkChatRequest(body, vendor);
  refuseReserved(body, vendor);
  const model = findModel(vendor, body.model);
  if (vendor.isStrict) refuseMarks(body, model.id);
  if (model.isReasoning) refuseForReasoning(body, vendor);
  else if (vendor.isStrict && body.reasoning_effort != null) {
    throw invalid(
      "reasoning_effort",
      "unsupported_parameter",
      "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
    );
  }
  refuseTools(body, model);
  const prompt = readChatPrompt(body, headerNames(exchange));
  const behaviours = readBehaviours(prompt.question, exchange.state.label);
  await admit(exchange, behaviours, prompt.question);
  const wish = reasoningWish(body, model);
  const outputs = Array.from(
    { length: asNumber(body.n) ?? 1 },
    (_, index) => think({ ...prompt, reasoningSentences: wish.sentences }, behaviours, index),
  );
  const answer: ChatAnswer = {
    vendor,
    id: exchange.state.nextId(vendor.idPrefix),
    created: unixSeconds(),
    model: model.id,
    outputs,
    usage: vendor.usage(countAll(exchange, vendor, body, outputs), model),
    isReasoningVisible: wish.isVisible && vendor.reasoning !== "hidden",
    topLogprobs: body.logprobs === true ? asNumber(body.top_logprobs) ?? 0 : null,
    isLegacy: body.functions !== undefined,
    callId: () => exchange.state.nextId("call_"),
  };
  const failure = new Problem(503, "The simulated vendor fails in the middle, as asked.");
  if (body.stream === true) {
    const options = asObject(body.stream_options);
    return answerStream(
      exchange,
      behaviours,
      chatScript(answer, {
        hasUsage: vendor.usageChunk === "always" || options?.include_usage === true,
        marksUsage: options?.include_usage === true,
        isObfuscated: vendor.hasObfuscation && options?.include_obfuscation !== false,
        failure,
      }),
    );
  }
  if (behaviours.ending === "error") {
    if (!vendor.hidesErrors) throw failure;
    return answerWhole(exchange, behaviours, vendor.errorBody(failure));
  }
  return answerWhole(exchange, behaviours, wholeAnswer(answer));
}

function wholeAnswer(answer: ChatAnswer): ChatCompletion & JsonObject {
  return {
    id: answer.id,
    object: "chat.completion",
    created: answer.created,
    model: answer.model,
    choices: answer.outputs.map((output, index) => wholeChoice(answer, output, index)),
    usage: answer.usage as unknown as NonNullable<ChatCompletion["usage"]>,
    ...answer.vendor.extras,
  };
}

function wholeChoice(answer: ChatAnswer, output: Output, index: number): ChatCompletion.Choice {
  const { vendor } = answer;
  const isRefused = output.refusal !== null;
  const calls = output.calls.map((call): NonNullable<ChatCompletionMessage["tool_calls"]>[number] =>
    call.isFreeText
      ? { id: answer.callId(), type: "custom", custom: { name: call.name, input: call.input } }
      : {
        id: answer.callId(),
        type: "function",
        function: { name: call.name, arguments: call.input },
      }
  );
  const text = isRefused && !vendor.hasRefusalField ? output.refusal : output.text;
  const first = output.calls[0];
  const message: ChatCompletionMessage = {
    role: "assistant",
    content: calls.length > 0 || (isRefused && vendor.hasRefusalField) ? null : text,
    refusal: vendor.hasRefusalField ? output.refusal : null,
    ...(vendor.isStrict || output.passages.length > 0
      ? { annotations: annotationsOf(output) }
      : {}),
    ...(answer.isReasoningVisible
      ? reasoningMembers(vendor, output.reasoning.chunks.join(""))
      : {}),
    ...(answer.isLegacy && first
      ? { function_call: { name: first.name, arguments: first.input } }
      : calls.length > 0
      ? { tool_calls: calls }
      : {}),
  };
  return {
    index,
    message,
    logprobs: answer.topLogprobs === null ? null : {
      content: tokenize(output.text).map((token) => logprobOf(token, answer.topLogprobs ?? 0)),
      refusal: null,
    },
    finish_reason: finishReason(answer, output),
  };
}
