import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import {
  APICallError,
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  Output,
  streamText,
  tool,
  type UserContent,
} from "ai";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import {
  type Address,
  FailedAnswer,
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
  // It would warn of each model that it doesn't know.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const openai = createOpenAI({ baseURL: `${url}/chat/v1`, apiKey: key });
  const anthropic = createAnthropic({ baseURL: `${url}/chat/v1`, apiKey: key });
  const google = createGoogle({ baseURL: `${url}/chat/v1beta`, apiKey: key });
  // It doesn't know these models, so the test sets that they reason.
  const known = { forceReasoning: true, reasoningSummary: "auto", store: false };
  const thinking = { reasoning: "low" } as const;
  return [
    library("ai with openai, chat", "chat", (model) => openai.chat(model), thinking),
    library("ai with openai, responses", "responses", (model) => openai(model), {
      ...thinking,
      providerOptions: { openai: known },
    }),
    library("ai with anthropic", "messages", (model) => anthropic(model), thinking),
    library("ai with google", "generate", (model) => google(model), {
      ...thinking,
      providerOptions: { google: { thinkingConfig: { includeThoughts: true } } },
    }),
  ];
}

/** How reasoning is asked for. */
type Thinking = Pick<Parameters<typeof streamText>[0], "reasoning" | "providerOptions">;

function library(
  name: string,
  dialect: DialectName,
  modelOf: (model: string) => LanguageModel,
  thinking: Thinking,
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
      const [only] = await steps({ model: modelOf(model), prompt });
      return told(only!);
    },
    tools: (model, question) => toolTurns(modelOf(model), question, {}),
    reasoning: (model, question) => toolTurns(modelOf(model), question, thinking),
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
    explain(thrown) {
      if (APICallError.isInstance(thrown)) {
        return { status: thrown.statusCode, text: thrown.responseBody ?? thrown.message };
      }
      return thrown instanceof FailedAnswer
        ? { status: undefined, text: thrown.message }
        : undefined;
    },
  };
}

/** The steps of a streamed answer. Throws what the library passed to its error listener. */
async function steps(options: Parameters<typeof streamText>[0]) {
  let failure: { error: unknown } | undefined;
  const onError = (given: { error: unknown }) => void (failure ??= given);
  const result = streamText({ ...options, maxRetries: 0, onError });
  const taken = await Promise.resolve(result.steps).catch((thrown) => {
    if (failure === undefined) throw thrown;
    return [];
  });
  if (failure === undefined) return taken;
  if (APICallError.isInstance(failure.error)) throw failure.error;
  throw new FailedAnswer(JSON.stringify(failure.error));
}

/** The library itself runs the tools and sends their results back. */
async function toolTurns(
  model: LanguageModel,
  prompt: string,
  more: Thinking,
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
  const [first, last, ...others] = await steps({
    ...more,
    model,
    prompt,
    tools,
    stopWhen: isStepCount(3),
  });
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
