import { type Content, FunctionCallingConfigMode, GoogleGenAI } from "@google/genai";
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

/** The generate dialect through the `@google/genai` library. */
export function generateProbes({ baseUrl, key }: ServerAddress): DialectProbes {
  const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${baseUrl}/chat` } });
  return {
    dialect: "generate",
    probes: [...basicProbes(client), ...contentProbes(client), ...limitProbes(client)],
  };
}

/** Probes of whole and streamed answers, usage and tools. */
function basicProbes(client: GoogleGenAI): Probe[] {
  const { models } = client;
  return [
    {
      name: "whole",
      async run(model) {
        const answer = await models.generateContent({ model, contents: helloPrompt });
        expect(answer.text, "no text");
        expect(answer.candidates?.[0]?.finishReason === "STOP", "it did not finish with STOP");
      },
    },
    {
      name: "stream",
      async run(model) {
        let text = "";
        let finish: string | undefined;
        for await (
          const part of await models.generateContentStream({ model, contents: helloPrompt })
        ) {
          text += part.text ?? "";
          finish = part.candidates?.[0]?.finishReason ?? finish;
        }
        expect(text !== "" && finish === "STOP", "the stream is empty or did not finish");
      },
    },
    {
      name: "usage",
      async run(model) {
        const { usageMetadata } = await models.generateContent({ model, contents: helloPrompt });
        expect((usageMetadata?.promptTokenCount ?? 0) > 0, "no prompt tokens");
        expect((usageMetadata?.candidatesTokenCount ?? 0) > 0, "no output tokens");
      },
    },
    { name: "tools", run: (model) => runTools(client, model) },
  ];
}

/** Probes of input content, and of the answer's form. */
function contentProbes(client: GoogleGenAI): Probe[] {
  const { models } = client;
  return [
    {
      name: "image",
      async run(model) {
        const answer = await models.generateContent({
          model,
          contents: [{
            role: "user",
            parts: [{ text: imagePrompt }, {
              inlineData: { mimeType: "image/png", data: pixelPng },
            }],
          }],
        });
        expect(answer.text, "no text");
      },
    },
    {
      name: "schema",
      async run(model) {
        const answer = await models.generateContent({
          model,
          contents: personPrompt,
          config: { responseMimeType: "application/json", responseJsonSchema: personSchema },
        });
        expectPerson(answer.text ?? "");
      },
    },
  ];
}

/** Probes of parameters that steer or limit the answer, and of errors. */
function limitProbes(client: GoogleGenAI): Probe[] {
  const { models } = client;
  return [
    {
      name: "reasoning",
      async run(model) {
        const answer = await models.generateContent({
          model,
          contents: helloPrompt,
          config: { thinkingConfig: { includeThoughts: true }, maxOutputTokens: 8000 },
        });
        expect(answer.text, "no text");
      },
    },
    {
      name: "stop",
      async run(model) {
        const answer = await models.generateContent({
          model,
          contents: longPrompt,
          config: { stopSequences: ["three"], httpOptions: { headers: strictly } },
        });
        expect(!answer.text?.includes("three"), "it went past the stop");
      },
    },
    {
      name: "length",
      async run(model) {
        const answer = await models.generateContent({
          model,
          contents: longPrompt,
          config: { maxOutputTokens: 16 },
        });
        const finish = answer.candidates?.[0]?.finishReason;
        expect(finish === "MAX_TOKENS", `it finished with ${finish}`);
      },
    },
    {
      name: "error",
      run: (model) =>
        expectStatus(
          () =>
            models.generateContent({
              model: `${model}-that-does-not-exist`,
              contents: helloPrompt,
            }),
          404,
        ),
    },
  ];
}

/** Streams parallel tool calls, then sends their results back. */
async function runTools(client: GoogleGenAI, model: string): Promise<void> {
  const config = {
    tools: [{
      functionDeclarations: [{
        name: weather.name,
        description: weather.description,
        parametersJsonSchema: weather.parameters,
      }],
    }],
    toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
  };
  const contents: Content[] = [{ role: "user", parts: [{ text: weatherPrompt }] }];
  const parts: NonNullable<Content["parts"]> = [];
  for await (
    const piece of await client.models.generateContentStream({ model, contents, config })
  ) {
    parts.push(...piece.candidates?.[0]?.content?.parts ?? []);
  }
  const calls = parts.flatMap((part) => part.functionCall ? [part.functionCall] : []);
  expectWeatherCalls(calls.map((call) => ({ name: call.name ?? "", arguments: call.args })));
  contents.push({ role: "model", parts }, {
    role: "user",
    parts: calls.map((call) => ({
      functionResponse: {
        ...(call.id === undefined ? {} : { id: call.id }),
        name: call.name ?? "",
        response: { temperature: 21 },
      },
    })),
  });
  const { toolConfig: _, ...second } = config;
  const answer = await client.models.generateContent({ model, contents, config: second });
  expect(answer.text, "no answer to the results");
}
