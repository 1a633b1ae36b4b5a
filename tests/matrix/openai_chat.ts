import OpenAI, { APIError } from "openai";
import type {
  ChatCompletion,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import {
  type Address,
  type Failure,
  type Library,
  personSchema,
  type Told,
  toolDescription,
  toolNames,
  toolParameters,
  toolResult,
  type ToolTurns,
} from "./library.ts";

type Params = Omit<ChatCompletionCreateParamsNonStreaming, "stream">;

/** `openai`, chat completions. */
export function openaiChat({ url, key }: Address): Library {
  const client = new OpenAI({ baseURL: `${url}/chat/v1`, apiKey: key, maxRetries: 0 });
  const ask = async (params: Params) => told(await client.chat.completions.create(params));
  const streamed = async (params: Params) =>
    told(
      await client.chat.completions
        .stream({ ...params, stream_options: { include_usage: true } }).finalChatCompletion(),
    );
  return {
    name: "openai chat",
    dialect: "chat",
    whole: (model, prompt) => ask({ model, messages: [user(prompt)] }),
    stream: (model, prompt) => streamed({ model, messages: [user(prompt)] }),
    tools: (model, question) => toolTurns(client, { model, messages: [user(question)] }),
    reasoning: (model, question) =>
      toolTurns(client, { model, messages: [user(question)], reasoning_effort: "low" }),
    image: (model, prompt, png) =>
      ask({
        model,
        messages: [{
          role: "user",
          content: [
            { type: "text", text: prompt },
            { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } },
          ],
        }],
      }),
    schema: (model, prompt) =>
      ask({
        model,
        messages: [user(prompt)],
        response_format: {
          type: "json_schema",
          json_schema: { name: "person", schema: personSchema, strict: true },
        },
      }),
    explain: explainOpenai,
  };
}

/** The library's one class of errors, for both of its dialects. */
export function explainOpenai(thrown: unknown): Failure | undefined {
  if (!(thrown instanceof APIError)) return undefined;
  return { status: thrown.status, text: `${thrown.code} ${thrown.message}` };
}

async function toolTurns(client: OpenAI, params: Params): Promise<ToolTurns> {
  const tools = toolNames.map((name) => ({
    type: "function" as const,
    function: { name, description: toolDescription(name), parameters: toolParameters },
  }));
  const messages: ChatCompletionMessageParam[] = [...params.messages];
  const thoughts: string[] = [];
  const turn = async () => {
    const stream = client.chat.completions.stream({
      ...params,
      tools,
      messages,
      stream_options: { include_usage: true },
    });
    stream.on("chunk", (chunk) => thoughts.push(thoughtOf(chunk.choices[0]?.delta)));
    return await stream.finalChatCompletion();
  };
  const first = await turn();
  const calls = (first.choices[0]?.message.tool_calls ?? [])
    .filter((call) => call.type === "function");
  messages.push(
    {
      role: "assistant",
      content: first.choices[0]?.message.content ?? null,
      // No more than a plain client keeps of a call.
      tool_calls: calls.map(({ id, function: { name, arguments: text } }) => ({
        id,
        type: "function",
        function: { name, arguments: text },
      })),
    },
    ...calls.map((call) => ({
      role: "tool" as const,
      tool_call_id: call.id,
      content: toolResult(call.function.name),
    })),
  );
  return {
    calls: calls.map(({ id, function: { name, arguments: text } }) => ({
      id,
      name,
      arguments: JSON.parse(text),
    })),
    endedWithCalls: first.choices[0]?.finish_reason === "tool_calls",
    last: told(await turn()),
    thoughts: thoughts.join(""),
  };
}

/** Reasoning is an extension of the dialect. */
function thoughtOf(delta: unknown): string {
  const text = delta as { reasoning_content?: unknown; reasoning?: unknown } | undefined;
  return String(text?.reasoning_content ?? text?.reasoning ?? "");
}

function told({ choices: [choice], usage }: ChatCompletion): Told {
  return {
    text: choice?.message.content ?? "",
    ended: choice?.finish_reason === "stop",
    tokens: usage && { input: usage.prompt_tokens, output: usage.completion_tokens },
  };
}

function user(content: string) {
  return { role: "user" as const, content };
}
