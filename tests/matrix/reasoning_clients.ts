import Anthropic from "@anthropic-ai/sdk";
import { type Content, GoogleGenAI, type Part, ThinkingLevel } from "@google/genai";
import OpenAI from "openai";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import type { Address } from "./library.ts";

/** A client that answers every tool call until there is none; gives the last words. */
export type Loop = (at: Address, model: string) => Promise<string>;

const schema = { type: "object" as const, properties: { a: { type: "integer" as const } } };
const names = ["f", "g"];
const most = 10;

/** Each official library, carrying of an answer what it carries by itself. */
export const loops: Readonly<Record<string, Loop>> = {
  "openai chat": chat,
  "openai responses, carried": (at, model) => responses(at, model, false),
  "openai responses, by id": (at, model) => responses(at, model, true),
  "@anthropic-ai/sdk": messages,
  "@google/genai": (at, model) => generate(at, model, (part) => part),
  // What Google's own program writes on calls that came without a signature.
  "@google/genai with sentinels": (at, model) =>
    generate(
      at,
      model,
      (part) =>
        part.functionCall && !part.thoughtSignature
          ? { ...part, thoughtSignature: "skip_thought_signature_validator" }
          : part,
    ),
  // google.golang.org/genai leaves empty strings out and holds signatures as bytes.
  "@google/genai with empty parts": (at, model) =>
    generate(
      at,
      model,
      (part) =>
        part.functionCall && !part.thoughtSignature
          ? { ...part, thoughtSignature: btoa("context_engineering_is_the_way_to_go") }
          : part,
      [{}, { text: "" }],
    ),
};

async function chat({ url, key }: Address, model: string): Promise<string> {
  const client = new OpenAI({ baseURL: `${url}/chat/v1`, apiKey: key, maxRetries: 0 });
  const messages: ChatCompletionMessageParam[] = [{ role: "user", content: "Go." }];
  const tools = names.map((name) => ({
    type: "function" as const,
    function: { name, parameters: schema },
  }));
  for (let turn = 0; turn < most; turn++) {
    const { choices: [choice] } = await client.chat.completions
      .stream({ model, messages, tools, reasoning_effort: "low" }).finalChatCompletion();
    const calls = choice!.message.tool_calls ?? [];
    if (calls.length === 0) return choice!.message.content ?? "";
    messages.push(
      choice!.message,
      ...calls.map(({ id }) => ({
        role: "tool" as const,
        tool_call_id: id,
        content: "1",
      })),
    );
  }
  throw new Error("no end");
}

async function responses({ url, key }: Address, model: string, byId: boolean): Promise<string> {
  const client = new OpenAI({ baseURL: `${url}/chat/v1`, apiKey: key, maxRetries: 0 });
  let input: ResponseInputItem[] = [{ role: "user", content: "Go." }];
  let previous: string | undefined;
  const tools = names.map((name) => ({
    type: "function" as const,
    name,
    parameters: schema,
    strict: false,
  }));
  for (let turn = 0; turn < most; turn++) {
    const answer = await client.responses.stream({
      model,
      input,
      tools,
      reasoning: { effort: "low" },
      ...(byId ? {} : { store: false, include: ["reasoning.encrypted_content"] }),
      ...(previous === undefined ? {} : { previous_response_id: previous }),
    }).finalResponse();
    const outputs = answer.output.filter((item) => item.type === "function_call")
      .map(({ call_id }) => ({ type: "function_call_output" as const, call_id, output: "1" }));
    if (outputs.length === 0) return answer.output_text;
    const said = answer.output.map((item) => {
      // The library adds it to what it read.
      const { parsed_arguments: _, ...plain } = item as typeof item & {
        parsed_arguments?: unknown;
      };
      return plain as ResponseInputItem;
    });
    previous = byId ? answer.id : undefined;
    input = byId ? outputs : [...input, ...said, ...outputs];
  }
  throw new Error("no end");
}

async function messages({ url, key }: Address, model: string): Promise<string> {
  const client = new Anthropic({ baseURL: `${url}/chat`, apiKey: key, maxRetries: 0 });
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Go." }];
  for (let turn = 0; turn < most; turn++) {
    const { content } = await client.messages.stream({
      model,
      max_tokens: 8000,
      messages,
      thinking: { type: "enabled", budget_tokens: 2000 },
      tools: names.map((name) => ({ name, input_schema: schema })),
    }).finalMessage();
    const calls = content.filter((block) => block.type === "tool_use");
    if (calls.length === 0) {
      return content.map((block) => block.type === "text" ? block.text : "").join("");
    }
    messages.push({ role: "assistant", content }, {
      role: "user",
      content: calls.map(({ id }) => ({
        type: "tool_result" as const,
        tool_use_id: id,
        content: "1",
      })),
    });
  }
  throw new Error("no end");
}

async function generate(
  { url, key }: Address,
  model: string,
  kept: (part: Part) => Part,
  more: readonly Part[] = [],
): Promise<string> {
  const { models } = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${url}/chat` } });
  const contents: Content[] = [{ role: "user", parts: [{ text: "Go." }] }];
  const config = {
    thinkingConfig: { includeThoughts: true, thinkingLevel: ThinkingLevel.LOW },
    tools: [{
      functionDeclarations: names.map((name) => ({ name, parametersJsonSchema: schema })),
    }],
  };
  for (let turn = 0; turn < most; turn++) {
    const stream = await models.generateContentStream({ model, contents, config });
    const parts = (await Array.fromAsync(stream))
      .flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
    const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
    if (calls.length === 0) return parts.map((part) => part.thought ? "" : part.text).join("");
    contents.push({ role: "model", parts: [...parts.map(kept), ...more] }, {
      role: "user",
      parts: calls.map(({ id, name }) => ({
        functionResponse: { id: id!, name: name!, response: { output: "1" } },
      })),
    });
  }
  throw new Error("no end");
}
