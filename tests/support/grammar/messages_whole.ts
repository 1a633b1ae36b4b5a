import { has, isObject, type Json, list, must, object, text, words } from "./frames.ts";
import { finishOf, readUsage } from "./messages.ts";
import { type AnswerChoice, type AnswerContent, newChoice } from "./answer_content.ts";

/** Checks a whole message against messages.md §3 and returns what it says. Throws GrammarError. */
export function checkMessagesWhole(answer: Json): AnswerContent {
  has(answer, "message", ["stop_reason", "stop_sequence", "stop_details", "container"]);
  has(answer, "message", ["diagnostics", "usage"]);
  must(/^msg_./.test(text(answer.id, "message.id")), "message.id doesn't begin with msg_");
  must(answer.type === "message" && answer.role === "assistant", "type or role is wrong");
  words(answer.model, "model");
  const said = newChoice();
  for (const block of list(answer.content, "content")) readBlock(object(block, "block"), said);
  said.finish = finishOf(answer, said);
  const usage = object(answer.usage, "usage");
  must(usage.input_tokens !== undefined && usage.output_tokens !== undefined, "usage");
  return {
    ending: "finished",
    choices: [said],
    usage: readUsage(usage, usage),
    error: undefined,
  };
}

function readBlock(block: Json, said: AnswerChoice): void {
  switch (words(block.type, "block.type")) {
    case "text":
      said.text += words(block.text, "a text block");
      must(block.citations !== null, "citations is null");
      return;
    case "thinking": {
      const thinking = text(block.thinking, "thinking");
      must(thinking !== "" || text(block.signature, "signature") !== "", "an empty thinking block");
      said.reasoning += thinking;
      return;
    }
    case "tool_use": {
      must(isObject(block.input), "tool_use.input is no object");
      const id = text(block.id, "tool_use.id");
      must(/^[a-zA-Z0-9_-]+$/.test(id), "tool_use.id has other characters");
      must(said.calls.every((call) => call.id !== id), "two calls have one id");
      const name = words(block.name, "tool_use.name");
      said.calls.push({ id, name, input: JSON.stringify(block.input), custom: false });
    }
  }
}
