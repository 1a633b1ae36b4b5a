import { checkMessagesWhole } from "./messages_whole.ts";
import { count, has, hasOnly, type Json, list, must, object, text, words } from "./frames.ts";
import { readUsage as readChatUsage } from "./chat.ts";
import { finishOf, readCandidatePart, readUsage as readGenerateUsage } from "./generate.ts";
import { checkResponseObject, readUsage as readResponsesUsage } from "./responses_object.ts";
import { contentOfItems } from "./responses_items.ts";
import { type AnswerChoice, type AnswerContent, newChoice } from "./answer_content.ts";

/** Checks a whole answer against its dialect and returns what it says. Throws GrammarError. */
export function checkWhole(
  dialect: "chat" | "responses" | "messages" | "generate",
  answer: unknown,
): AnswerContent {
  // Answers are sent as JSON, which leaves out undefined members.
  const json = object(JSON.parse(JSON.stringify(answer)), "the answer");
  switch (dialect) {
    case "chat":
      return checkChatWhole(json);
    case "responses":
      return checkResponsesWhole(json);
    case "messages":
      return checkMessagesWhole(json);
    case "generate":
      return checkGenerateWhole(json);
  }
}

/** Checks an answer against chat-completions.md §4.1. */
function checkChatWhole(answer: Json): AnswerContent {
  has(answer, "answer", ["id", "object", "created", "model", "choices", "usage"]);
  must(answer.object === "chat.completion", "object is not chat.completion");
  words(answer.id, "id");
  words(answer.model, "model");
  count(answer.created, "created");
  const choices = list(answer.choices, "choices").map((one, position) => {
    const choice = object(one, "choice");
    has(choice, "choice", ["index", "message", "finish_reason", "logprobs"]);
    must(choice.index === position, `choice ${position} has another index`);
    return chatChoice(choice, object(choice.message, "message"));
  });
  must(choices.length > 0, "no choice at all");
  return finished(choices, readChatUsage(object(answer.usage, "usage")));
}

function chatChoice(choice: Json, message: Json): AnswerChoice {
  has(message, "message", ["role", "content", "refusal"]);
  must(message.role === "assistant", "role is not assistant");
  const said = newChoice();
  said.text = message.content === null ? "" : text(message.content, "content");
  said.refusal = message.refusal === null ? "" : words(message.refusal, "refusal");
  said.reasoning = "reasoning_content" in message ? text(message.reasoning_content, "r") : "";
  if ("tool_calls" in message) {
    const calls = list(message.tool_calls, "tool_calls");
    must(calls.length > 0, "tool_calls is empty");
    for (const one of calls) {
      const call = object(one, "tool call");
      const custom = call.type === "custom";
      must(custom || call.type === "function", "a tool call of unknown type");
      const body = object(call[String(call.type)], "tool call");
      const input = custom ? text(body.input, "input") : words(body.arguments, "arguments");
      const name = words(body.name, "tool name");
      said.calls.push({ id: words(call.id, "tool call id"), name, input, custom });
    }
    must(said.text !== "" || message.content === null, "empty content beside tool calls");
  }
  const finish = choice.finish_reason;
  must(
    finish === "stop" || finish === "length" || finish === "tool_calls" ||
      finish === "content_filter",
    `unknown finish_reason ${finish}`,
  );
  must(finish !== "stop" || said.calls.length === 0, "finish_reason stop beside tool calls");
  must(finish !== "tool_calls" || said.calls.length > 0, "finish_reason without tool calls");
  said.finish = finish;
  return said;
}

/** Checks an answer against responses.md §4. */
function checkResponsesWhole(answer: Json): AnswerContent {
  checkResponseObject(answer);
  must(answer.status === "completed" || answer.status === "incomplete", "the status is no end");
  must(answer.error === null, "an answer that ended well has an error");
  const items = list(answer.output, "output").map((one) => object(one, "item"));
  const ids = items.map((item) => words(item.id, "item.id"));
  must(new Set(ids).size === ids.length, "two items have one id");
  must(items.some(({ type }) => type !== "reasoning"), "an answer without message or call");
  for (const item of items) {
    must(item.status !== "in_progress", "an item is in progress");
    const isCut = item.status === "incomplete";
    must(!isCut || answer.status === "incomplete", "an incomplete item in a completed answer");
  }
  const usage = readResponsesUsage(object(answer.usage, "usage"));
  return finished([contentOfItems(answer, items)], usage);
}

/** Checks an answer against generate-content.md §4. */
function checkGenerateWhole(answer: Json): AnswerContent {
  hasOnly(answer, "answer", [
    "candidates",
    "promptFeedback",
    "usageMetadata",
    "modelVersion",
    "responseId",
    "createTime",
  ]);
  words(answer.responseId, "responseId");
  words(answer.modelVersion, "modelVersion");
  const choices = list(answer.candidates ?? [], "candidates").map((one, position) => {
    const candidate = object(one, "candidate");
    must((candidate.index ?? 0) === position, `candidate ${position} has another index`);
    const said = newChoice();
    const content = object(candidate.content, "content");
    must(content.role === "model", "role is not model");
    for (const part of list(content.parts, "parts")) readCandidatePart(part, said);
    said.finish = finishOf(candidate.finishReason, said);
    return said;
  });
  must(choices.length > 0 || "promptFeedback" in answer, "no candidate at all");
  return finished(choices, readGenerateUsage(object(answer.usageMetadata, "usageMetadata")));
}

function finished(choices: AnswerChoice[], usage: AnswerContent["usage"]): AnswerContent {
  return { ending: "finished", choices, usage, error: undefined };
}
