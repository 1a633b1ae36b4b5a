import OpenAI from "openai";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { type Address, toolDescription, toolNames, toolParameters, toolResult } from "./library.ts";

/**
 * A chat client that keeps of an answer only what the dialect's first version had: role, content,
 * and of tool calls id and function. No signature survives in it.
 */
export class PlainClient {
  readonly #model: string;
  readonly #messages: ChatCompletionMessageParam[];
  /** Ids of all tool calls so far. */
  readonly callIds: string[] = [];
  /** Of the last answer. */
  lastText = "";

  constructor(model: string, question: string) {
    this.#model = model;
    this.#messages = [{ role: "user", content: question }];
  }

  /** One turn at any address: the answer's calls are answered at once. Gives how it finished. */
  async turn({ url, key }: Address, stream: boolean): Promise<string | undefined> {
    const client = new OpenAI({ baseURL: `${url}/chat/v1`, apiKey: key, maxRetries: 0 });
    const params = {
      model: this.#model,
      messages: this.#messages,
      reasoning_effort: "low" as const,
      tools: toolNames.map((name) => ({
        type: "function" as const,
        function: { name, description: toolDescription(name), parameters: toolParameters },
      })),
    };
    const answer = stream
      ? await client.chat.completions.stream(params).finalChatCompletion()
      : await client.chat.completions.create(params);
    const choice = answer.choices[0]!;
    this.lastText = choice.message.content ?? "";
    const calls = (choice.message.tool_calls ?? []).filter((call) => call.type === "function");
    this.callIds.push(...calls.map(({ id }) => id));
    this.#messages.push(
      {
        role: "assistant",
        content: choice.message.content,
        ...(calls.length === 0 ? {} : {
          tool_calls: calls.map(({ id, function: { name, arguments: text } }) => ({
            id,
            type: "function" as const,
            function: { name, arguments: text },
          })),
        }),
      },
      ...calls.map(({ id, function: { name } }) => ({
        role: "tool" as const,
        tool_call_id: id,
        content: toolResult(name),
      })),
    );
    return choice.finish_reason;
  }
}
