import OpenAI from "openai";
import type {
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import {
  type DialectProbes,
  expect,
  expectPerson,
  expectStatus,
  expectWeatherCalls,
  helloPrompt,
  imagePrompt,
  longPrompt,
  personPrompt,
  personSchema,
  pixelPng,
  type Probe,
  type ServerAddress,
  weather,
  weatherPrompt,
} from "./feature.ts";

/** The chat dialect through the `openai` library. */
export function chatProbes({ baseUrl, key }: ServerAddress): DialectProbes {
  const client = new OpenAI({ baseURL: `${baseUrl}/chat/v1`, apiKey: key, maxRetries: 0 });
  return {
    dialect: "chat",
    probes: [...basicProbes(client), ...contentProbes(client), ...limitProbes(client)],
  };
}

/** Probes of whole and streamed answers, usage and tools. */
function basicProbes(client: OpenAI): Probe[] {
  const { completions } = client.chat;
  const hello = [{ role: "user" as const, content: helloPrompt }];
  return [
    {
      name: "whole",
      async run(model) {
        const answer = await completions.create({ model, messages: hello });
        expect(answer.choices[0]?.message.content, "no content");
        expect(answer.choices[0]?.finish_reason === "stop", "it did not finish with stop");
      },
    },
    {
      name: "stream",
      async run(model) {
        let text = "";
        let finish: string | null = null;
        for await (
          const chunk of await completions.create({ model, messages: hello, stream: true })
        ) {
          text += chunk.choices[0]?.delta.content ?? "";
          finish = chunk.choices[0]?.finish_reason ?? finish;
        }
        expect(text !== "" && finish === "stop", "the stream is empty or did not finish");
      },
    },
    {
      name: "usage",
      async run(model) {
        const stream = await completions.create({
          model,
          messages: hello,
          stream: true,
          stream_options: { include_usage: true },
        });
        let usage;
        for await (const chunk of stream) usage = chunk.usage ?? usage;
        expect(usage && usage.prompt_tokens > 0 && usage.completion_tokens > 0, "no usage");
      },
    },
    { name: "tools", run: (model) => runTools(client, model) },
  ];
}

/** Probes of input content, and of the answer's form. */
function contentProbes(client: OpenAI): Probe[] {
  const { completions } = client.chat;
  return [
    {
      name: "image",
      async run(model) {
        const url = `data:image/png;base64,${pixelPng}`;
        const answer = await completions.create({
          model,
          messages: [{
            role: "user",
            content: [
              { type: "text", text: imagePrompt },
              { type: "image_url", image_url: { url } },
            ],
          }],
        });
        expect(answer.choices[0]?.message.content, "no content");
      },
    },
    {
      name: "schema",
      async run(model) {
        const answer = await completions.create({
          model,
          messages: [{ role: "user", content: personPrompt }],
          response_format: {
            type: "json_schema",
            json_schema: { name: "person", schema: personSchema, strict: true },
          },
        });
        expectPerson(answer.choices[0]?.message.content ?? "");
      },
    },
  ];
}

/** Probes of parameters that steer or limit the answer, and of errors. */
function limitProbes(client: OpenAI): Probe[] {
  const { completions } = client.chat;
  const hello = [{ role: "user" as const, content: helloPrompt }];
  return [
    {
      name: "reasoning",
      async run(model) {
        const answer = await completions.create({
          model,
          messages: hello,
          reasoning_effort: "low",
          max_completion_tokens: 8000,
        });
        expect(answer.choices[0]?.message.content, "no content");
      },
    },
    {
      name: "stop",
      async run(model) {
        const answer = await completions.create({
          model,
          messages: [{ role: "user", content: longPrompt }],
          stop: ["three"],
        });
        expect(!answer.choices[0]?.message.content?.includes("three"), "it went past the stop");
      },
    },
    {
      name: "length",
      async run(model) {
        const answer = await completions.create({
          model,
          messages: [{ role: "user", content: longPrompt }],
          max_completion_tokens: 16,
        });
        expect(answer.choices[0]?.finish_reason === "length", "it did not finish with length");
      },
    },
    {
      name: "error",
      run: (model) =>
        expectStatus(
          () => completions.create({ model: `${model}-that-does-not-exist`, messages: hello }),
          404,
        ),
    },
  ];
}

/** Streams parallel tool calls, then sends their results back. */
async function runTools(client: OpenAI, model: string): Promise<void> {
  const tools = [{
    type: "function" as const,
    function: { ...weather, parameters: { ...weather.parameters } },
  }];
  const messages: ChatCompletionMessageParam[] = [{ role: "user", content: weatherPrompt }];
  const stream = client.chat.completions.stream({
    model,
    messages,
    tools,
    tool_choice: "required",
  });
  const first = (await stream.finalChatCompletion()).choices[0]!;
  const calls = (first.message.tool_calls ?? []).filter((call) => call.type === "function");
  expect(first.finish_reason === "tool_calls", `it finished with ${first.finish_reason}`);
  expectWeatherCalls(
    calls.map((call) => ({
      name: call.function.name,
      arguments: JSON.parse(call.function.arguments),
    })),
  );
  messages.push(
    // The library's stream helper adds fields of its own, which servers refuse.
    { role: "assistant", content: first.message.content, tool_calls: calls.map(plainCall) },
    ...calls.map((call) => ({
      role: "tool" as const,
      tool_call_id: call.id,
      content: JSON.stringify({ temperature: 21 }),
    })),
  );
  const second = await client.chat.completions.create({ model, messages, tools });
  expect(second.choices[0]?.message.content, "no answer to the results");
}

function plainCall(
  { id, function: { name, arguments: text } }: ChatCompletionMessageFunctionToolCall,
) {
  return { id, type: "function" as const, function: { name, arguments: text } };
}
