import Anthropic from "@anthropic-ai/sdk";
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
  strictly,
  weather,
  weatherPrompt,
} from "./feature.ts";

type Params = Anthropic.MessageCreateParamsNonStreaming;

/** The messages dialect through the `@anthropic-ai/sdk` library. */
export function messagesProbes({ baseUrl, key }: ServerAddress): DialectProbes {
  const client = new Anthropic({ baseURL: `${baseUrl}/chat`, apiKey: key, maxRetries: 0 });
  return { dialect: "messages", probes: [...basicProbes(client), ...contentProbes(client)] };
}

/** Probes of whole and streamed answers, usage and tools. */
function basicProbes(client: Anthropic): Probe[] {
  const ask = asker(client);
  return [
    {
      name: "whole",
      async run(model) {
        const answer = await ask(model, helloPrompt);
        expect(textOf(answer) && answer.stop_reason === "end_turn", "no text or no end of turn");
      },
    },
    {
      name: "stream",
      async run(model) {
        const stream = client.messages.stream({
          model,
          max_tokens: 8000,
          messages: [{ role: "user", content: helloPrompt }],
        });
        const answer = await stream.finalMessage();
        expect(textOf(answer) && answer.stop_reason === "end_turn", "no text or no end of turn");
      },
    },
    {
      name: "usage",
      async run(model) {
        const { usage } = await ask(model, helloPrompt);
        expect(usage.input_tokens > 0 && usage.output_tokens > 0, "no usage");
      },
    },
    { name: "tools", run: (model) => runTools(client, model) },
  ];
}

/** Probes of input content, and of parameters that limit the answer. */
function contentProbes(client: Anthropic): Probe[] {
  const ask = asker(client);
  return [
    {
      name: "image",
      async run(model) {
        const answer = await ask(model, [
          { type: "text", text: imagePrompt },
          { type: "image", source: { type: "base64", media_type: "image/png", data: pixelPng } },
        ]);
        expect(textOf(answer), "no text");
      },
    },
    {
      name: "schema",
      async run(model) {
        const answer = await ask(model, personPrompt, {
          output_config: { format: { type: "json_schema", schema: { ...personSchema } } },
        });
        expectPerson(textOf(answer));
      },
    },
    {
      name: "reasoning",
      async run(model) {
        const answer = await ask(model, helloPrompt, {
          thinking: { type: "adaptive" },
          output_config: { effort: "low" },
        });
        expect(textOf(answer), "no text");
      },
    },
    {
      name: "stop",
      async run(model) {
        const answer = await client.messages.create({
          model,
          max_tokens: 8000,
          messages: [{ role: "user", content: longPrompt }],
          stop_sequences: ["three"],
        }, { headers: strictly });
        expect(!textOf(answer).includes("three"), "it went past the stop");
      },
    },
    {
      name: "length",
      async run(model) {
        const answer = await ask(model, longPrompt, { max_tokens: 16 });
        expect(answer.stop_reason === "max_tokens", `it stopped with ${answer.stop_reason}`);
      },
    },
    {
      name: "error",
      run: (model) => expectStatus(() => ask(`${model}-that-does-not-exist`, helloPrompt), 404),
    },
  ];
}

function textOf(answer: Anthropic.Message): string {
  return answer.content.map((block) => block.type === "text" ? block.text : "").join("");
}

/** Streams parallel tool calls, then sends their results back. */
async function runTools(client: Anthropic, model: string): Promise<void> {
  const tools: Anthropic.Tool[] = [{
    name: weather.name,
    description: weather.description,
    input_schema: { ...weather.parameters, required: [...weather.parameters.required] },
  }];
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: weatherPrompt }];
  const first = await client.messages.stream({ model, max_tokens: 8000, messages, tools })
    .finalMessage();
  const calls = first.content.filter((block) => block.type === "tool_use");
  expect(first.stop_reason === "tool_use", `it stopped with ${first.stop_reason}`);
  expectWeatherCalls(calls.map((call) => ({ name: call.name, arguments: call.input })));
  messages.push({ role: "assistant", content: first.content }, {
    role: "user",
    content: calls.map((call) => ({
      type: "tool_result" as const,
      tool_use_id: call.id,
      content: JSON.stringify({ temperature: 21 }),
    })),
  });
  const second = await client.messages.create({ model, max_tokens: 8000, messages, tools });
  expect(textOf(second), "no answer to the results");
}

function asker(client: Anthropic) {
  return (model: string, content: Anthropic.MessageParam["content"], more: Partial<Params> = {}) =>
    client.messages.create({
      model,
      max_tokens: 8000,
      messages: [{ role: "user", content }],
      ...more,
    });
}
