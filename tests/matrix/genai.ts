import {
  ApiError,
  type Content,
  type GenerateContentConfig,
  type GenerateContentResponse,
  GoogleGenAI,
  type Part,
  ThinkingLevel,
} from "@google/genai";
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

/** `@google/genai`. */
export function genai({ url, key }: Address): Library {
  const { models } = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${url}/chat` } });
  const ask = async (model: string, contents: Content[], config: GenerateContentConfig = {}) =>
    told([await models.generateContent({ model, contents, config })]);
  return {
    name: "@google/genai",
    dialect: "generate",
    whole: (model, prompt) => ask(model, [user({ text: prompt })]),
    async stream(model, prompt) {
      const contents = [user({ text: prompt })];
      return told(
        await Array.fromAsync(await models.generateContentStream({ model, contents })),
      );
    },
    tools: (model, question) => toolTurns(models, model, question, {}),
    reasoning: (model, question) =>
      toolTurns(models, model, question, {
        thinkingConfig: { includeThoughts: true, thinkingLevel: ThinkingLevel.LOW },
      }),
    image: (model, prompt, png) =>
      ask(model, [user({ text: prompt }, { inlineData: { mimeType: "image/png", data: png } })]),
    schema: (model, prompt) =>
      ask(model, [user({ text: prompt })], {
        responseMimeType: "application/json",
        responseJsonSchema: personSchema,
      }),
    explain(thrown) {
      if (thrown instanceof ApiError) return { status: thrown.status, text: thrown.message };
      // What it throws at the end of a stream that failed on its way.
      const isBroken = thrown instanceof Error && /^Incomplete JSON segment/.test(thrown.message);
      return isBroken ? { status: undefined, text: thrown.message } : undefined;
    },
  };
}

async function toolTurns(
  models: GoogleGenAI["models"],
  model: string,
  question: string,
  given: GenerateContentConfig,
): Promise<ToolTurns> {
  const functionDeclarations = toolNames.map((name) => ({
    name,
    description: toolDescription(name),
    parametersJsonSchema: toolParameters,
  }));
  const config = { ...given, tools: [{ functionDeclarations }] };
  const contents: Content[] = [user({ text: question })];
  const turn = async () =>
    await Array.fromAsync(await models.generateContentStream({ model, contents, config }));
  const first = await turn();
  const parts = first.flatMap(partsOf);
  const calls = parts.flatMap(({ functionCall }) => functionCall ? [functionCall] : []);
  contents.push(
    { role: "model", parts },
    user(
      ...calls.map(({ id, name = "" }) => ({
        functionResponse: {
          ...(id === undefined ? {} : { id }),
          name,
          response: { output: toolResult(name) },
        },
      })),
    ),
  );
  const last = await turn();
  return {
    calls: calls.map(({ id = "", name = "", args }) => ({ id, name, arguments: args })),
    endedWithCalls: finishOf(first) === "STOP" && calls.length > 0,
    last: told(last),
    thoughts: [...parts, ...last.flatMap(partsOf)]
      .map((part) => part.thought ? part.text : "").join(""),
  };
}

function told(pieces: readonly GenerateContentResponse[]): Told {
  const usage = pieces.findLast(({ usageMetadata }) => usageMetadata)?.usageMetadata;
  return {
    text: pieces.flatMap(partsOf).map((part) => part.thought ? "" : part.text ?? "").join(""),
    ended: finishOf(pieces) === "STOP",
    tokens: usage && {
      input: usage.promptTokenCount ?? 0,
      output: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
    },
  };
}

function finishOf(pieces: readonly GenerateContentResponse[]): string | undefined {
  return pieces.flatMap(({ candidates }) => candidates?.[0]?.finishReason ?? []).at(-1);
}

function partsOf({ candidates }: GenerateContentResponse): Part[] {
  return candidates?.[0]?.content?.parts ?? [];
}

function user(...parts: Part[]): Content {
  return { role: "user", parts };
}
