import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import {
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  Output,
  streamText,
  tool,
  type UserContent,
} from "ai";
import type { DialectName } from "../../contracts/vendors.ts";
import {
  type Address,
  type Library,
  personSchema,
  type Told,
  toolDescription,
  toolNames,
  toolParameters,
  toolResult,
  type ToolTurns,
} from "./library.ts";

/** `ai` with its own provider of each dialect. */
export function aiSdk({ url, key }: Address): Library[] {
  const openai = createOpenAI({ baseURL: `${url}/chat/v1`, apiKey: key });
  const anthropic = createAnthropic({ baseURL: `${url}/chat/v1`, apiKey: key });
  const google = createGoogle({ baseURL: `${url}/chat/v1beta`, apiKey: key });
  return [
    library("ai with openai, chat", "chat", (model) => openai.chat(model)),
    library("ai with openai, responses", "responses", (model) => openai(model)),
    library("ai with anthropic", "messages", (model) => anthropic(model)),
    library("ai with google", "generate", (model) => google(model)),
  ];
}

function library(
  name: string,
  dialect: DialectName,
  modelOf: (model: string) => LanguageModel,
): Library {
  const ask = async (model: string, content: UserContent) =>
    told(
      await generateText({
        model: modelOf(model),
        messages: [{ role: "user", content }],
        maxRetries: 0,
      }),
    );
  return {
    name,
    dialect,
    whole: ask,
    async stream(model, prompt) {
      const result = streamed({ model: modelOf(model), prompt });
      return told({
        text: await result.text,
        finishReason: await result.finishReason,
        usage: await result.usage,
      });
    },
    tools: (model, question) => toolTurns(modelOf(model), question, {}),
    reasoning: (model, question) => toolTurns(modelOf(model), question, { reasoning: "low" }),
    image: (model, prompt, png) =>
      ask(model, [
        { type: "text", text: prompt },
        { type: "file", data: png, mediaType: "image/png" },
      ]),
    async schema(model, prompt) {
      const result = await generateText({
        model: modelOf(model),
        prompt,
        output: Output.object({ schema: jsonSchema(personSchema), name: "person" }),
        maxRetries: 0,
      });
      return { ...told(result), text: JSON.stringify(result.output) };
    },
  };
}

type StreamOptions = Parameters<typeof streamText>[0];

/** An error in a stream comes out of the awaited results; it need not be printed too. */
function streamed(options: StreamOptions) {
  return streamText({ ...options, maxRetries: 0, onError() {} });
}

/** The library itself runs the tools and sends their results back. */
async function toolTurns(
  model: LanguageModel,
  prompt: string,
  more: { reasoning?: "low" },
): Promise<ToolTurns> {
  const tools = Object.fromEntries(
    toolNames.map((name) => [
      name,
      tool({
        description: toolDescription(name),
        inputSchema: jsonSchema<{ city: string }>(toolParameters),
        execute: () => Promise.resolve(toolResult(name)),
      }),
    ]),
  );
  const result = streamed({ ...more, model, prompt, tools, stopWhen: isStepCount(3) });
  const [first, last, ...others] = await result.steps;
  if (!first || !last || others.length > 0) {
    throw new Error("the library took other than two steps");
  }
  return {
    calls: first.toolCalls.map(({ toolCallId, toolName, input }) => ({
      id: toolCallId,
      name: toolName,
      arguments: input,
    })),
    endedWithCalls: first.finishReason === "tool-calls",
    last: told(last),
    thoughts: [first, last].map(({ reasoningText }) => reasoningText ?? "").join(""),
  };
}

function told(
  result: {
    text: string;
    finishReason: string;
    usage: { inputTokens: number | undefined; outputTokens: number | undefined };
  },
): Told {
  const { inputTokens, outputTokens } = result.usage;
  return {
    text: result.text,
    ended: result.finishReason === "stop",
    tokens: { input: inputTokens ?? 0, output: outputTokens ?? 0 },
  };
}
