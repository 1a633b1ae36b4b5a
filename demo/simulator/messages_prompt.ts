import { asArray, asNumber, asObject, asText, type JsonObject, objectsIn } from "./json.ts";
import { mediaOf } from "./messages_checks.ts";
import { type Prompt } from "./model.ts";
import { offeredSearch } from "./messages_search.ts";
import { type ToolOutcome } from "./prose.ts";

/** The prompt of a checked messages request. */
export function readMessagesPrompt(body: JsonObject, headerNames: string[]): Prompt {
  const messages = objectsIn(body.messages);
  const hasText = (message: JsonObject) =>
    message.role === "user" && textOf(message.content) !== "";
  const asked = messages.findLastIndex(hasText);
  const sinceUser = messages.slice(asked + 1);
  const format = asObject(asObject(body.output_config)?.format);
  const choice = asObject(body.tool_choice);
  return {
    system: textOf(body.system),
    question: textOf(messages[asked]?.content),
    earlier: messages.slice(0, Math.max(asked, 0)).filter(hasText)
      .map((message) => textOf(message.content)),
    media: mediaOf(objectsIn(messages[asked]?.content), "messages"),
    outcomes: outcomesOf(messages, asked),
    toolRounds: sinceUser.filter((message) => callsOf(message).length > 0).length,
    allToolRounds: messages.filter((message) => callsOf(message).length > 0).length,
    tools: objectsIn(body.tools).filter((tool) => tool.input_schema !== undefined)
      .map((tool) => ({
        name: asText(tool.name),
        description: asText(tool.description),
        schema: tool.input_schema,
        isFreeText: false,
      })),
    toolMode: toolMode(choice),
    mayCallSeveral: choice?.disable_parallel_tool_use !== true,
    json: format ? { schema: format.schema ?? null } : null,
    reasoningSentences: 0,
    maxTokens: asNumber(body.max_tokens),
    stop: asArray(body.stop_sequences).map((stop) => asText(stop)),
    hasPreamble: !format,
    headerNames,
    search: offeredSearch(body),
  };
}

function toolMode(choice: JsonObject | null): Prompt["toolMode"] {
  switch (choice?.type) {
    case "none":
      return { kind: "none" };
    case "any":
      return { kind: "forced", names: [] };
    case "tool":
      return { kind: "forced", names: [asText(choice.name)] };
    default:
      return { kind: "auto" };
  }
}

/** Returns the tool results in the last message, unless a question came after them. */
function outcomesOf(messages: readonly JsonObject[], asked: number): ToolOutcome[] {
  const last = messages.at(-1);
  const results = objectsIn(last?.content).filter((block) => block.type === "tool_result");
  const isAnswered = asked === messages.length - 1 && results.length === 0;
  if (isAnswered) return [];
  const names = new Map(messages.flatMap(callsOf).map((call) => [call.id, asText(call.name)]));
  return results.map((result) => ({
    name: names.get(result.tool_use_id) ?? "",
    text: textOf(result.content),
    isError: result.is_error === true,
    media: mediaOf(objectsIn(result.content), "messages"),
  }));
}

function callsOf(message: JsonObject): JsonObject[] {
  return objectsIn(message.content).filter((block) => block.type === "tool_use");
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return objectsIn(content).filter((block) => block.type === "text")
    .map((block) => asText(block.text)).join("\n");
}
