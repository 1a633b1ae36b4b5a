import OpenAI from "openai";
import type { ResponseInputItem, ResponseOutputItem } from "openai/resources/responses/responses";
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

/** The responses dialect through the `openai` library. */
export function responsesProbes({ baseUrl, key }: ServerAddress): DialectProbes {
  const client = new OpenAI({ baseURL: `${baseUrl}/chat/v1`, apiKey: key, maxRetries: 0 });
  return {
    dialect: "responses",
    probes: [...basicProbes(client), ...contentProbes(client), ...limitProbes(client)],
  };
}

/** Probes of whole and streamed answers, usage and tools. */
function basicProbes(client: OpenAI): Probe[] {
  const { responses } = client;
  return [
    {
      name: "whole",
      async run(model) {
        const answer = await responses.create({ model, input: helloPrompt });
        expect(answer.output_text && answer.status === "completed", "no text or not completed");
      },
    },
    {
      name: "stream",
      async run(model) {
        let text = "";
        let completed = false;
        for await (
          const event of await responses.create({ model, input: helloPrompt, stream: true })
        ) {
          if (event.type === "response.output_text.delta") text += event.delta;
          if (event.type === "response.completed") completed = event.response.output_text !== "";
        }
        expect(text !== "" && completed, "the stream is empty or not completed");
      },
    },
    {
      name: "usage",
      async run(model) {
        const { usage } = await responses.create({ model, input: helloPrompt });
        expect(usage && usage.input_tokens > 0 && usage.output_tokens > 0, "no usage");
      },
    },
    { name: "tools", run: (model) => runTools(client, model) },
  ];
}

/** Probes of input content, and of the answer's form. */
function contentProbes(client: OpenAI): Probe[] {
  const { responses } = client;
  return [
    {
      name: "image",
      async run(model) {
        const image_url = `data:image/png;base64,${pixelPng}`;
        const answer = await responses.create({
          model,
          input: [{
            role: "user",
            content: [
              { type: "input_text", text: imagePrompt },
              { type: "input_image", image_url, detail: "auto" },
            ],
          }],
        });
        expect(answer.output_text, "no text");
      },
    },
    {
      name: "schema",
      async run(model) {
        const answer = await responses.create({
          model,
          input: personPrompt,
          text: {
            format: {
              type: "json_schema",
              name: "person",
              schema: { ...personSchema },
              strict: true,
            },
          },
        });
        expectPerson(answer.output_text);
      },
    },
  ];
}

/** Probes of parameters that steer or limit the answer, and of errors. */
function limitProbes(client: OpenAI): Probe[] {
  const { responses } = client;
  return [
    {
      name: "reasoning",
      async run(model) {
        const answer = await responses.create({
          model,
          input: helloPrompt,
          reasoning: { effort: "low", summary: "auto" },
          max_output_tokens: 8000,
        });
        expect(answer.output_text, "no text");
      },
    },
    {
      name: "stop",
      // The dialect has no stop sequences: its stored conversations are tested instead.
      async run(model) {
        const first = await responses.create({ model, input: helloPrompt });
        const second = await responses.create({
          model,
          input: "And again.",
          previous_response_id: first.id,
        });
        expect(second.output_text, "no text");
        expect(
          (await responses.retrieve(first.id)).id === first.id,
          "another response came back",
        );
        const { output } = await responses.compact({ model, previous_response_id: second.id });
        expect(output.at(-1)?.type === "compaction", "not compacted");
        const input = [...output, { role: "user", content: "Once more." }] as ResponseInputItem[];
        expect((await responses.create({ model, input })).output_text, "no text after compaction");
        await responses.delete(first.id);
        await expectStatus(() => responses.retrieve(first.id), 404);
      },
    },
    {
      name: "length",
      async run(model) {
        const answer = await responses.create({
          model,
          input: longPrompt,
          max_output_tokens: 16,
        });
        expect(answer.status === "incomplete", `its status is ${answer.status}`);
        expect(answer.incomplete_details?.reason === "max_output_tokens", "another reason");
      },
    },
    {
      name: "error",
      run: (model) =>
        expectStatus(
          () => responses.create({ model: `${model}-that-does-not-exist`, input: helloPrompt }),
          404,
        ),
    },
  ];
}

/** Streams parallel tool calls, then sends their results back. */
async function runTools(client: OpenAI, model: string): Promise<void> {
  const tools = [{
    type: "function" as const,
    ...weather,
    parameters: { ...weather.parameters },
    strict: false,
  }];
  const input: ResponseInputItem[] = [{ role: "user", content: weatherPrompt }];
  const stream = client.responses.stream({ model, input, tools, tool_choice: "required" });
  const first = await stream.finalResponse();
  const calls = first.output.filter((item) => item.type === "function_call");
  expectWeatherCalls(
    calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) })),
  );
  input.push(
    // The library's stream helper adds fields of its own, which servers refuse.
    ...first.output.map(plainItem),
    ...calls.map((call) => ({
      type: "function_call_output" as const,
      call_id: call.call_id,
      output: JSON.stringify({ temperature: 21 }),
    })),
  );
  const second = await client.responses.create({ model, input, tools });
  expect(second.output_text, "no answer to the results");
}

function plainItem(item: ResponseOutputItem): ResponseInputItem {
  if (item.type !== "function_call") return item as ResponseInputItem;
  const { type, id, call_id, name, arguments: text } = item;
  return { type, ...(id === undefined ? {} : { id }), call_id, name, arguments: text };
}
