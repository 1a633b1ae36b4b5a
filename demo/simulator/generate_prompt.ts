import { mediaOf, partsOf } from "./generate_checks.ts";
import { asArray, asNumber, asObject, asText, type JsonObject, objectsIn } from "./json.ts";
import { type Prompt } from "./model.ts";

/** The prompt of a checked generate request. */
export function readGeneratePrompt(request: JsonObject, headerNames: string[]): Prompt {
  const contents = objectsIn(request.contents);
  const config = asObject(request.generationConfig) ?? {};
  const hasText = (content: JsonObject) => content.role !== "model" && textOf(content) !== "";
  const asked = contents.findLastIndex(hasText);
  const last = contents.at(-1) ?? {};
  const calling = asObject(asObject(request.toolConfig)?.functionCallingConfig);
  const mime = asText(config.responseMimeType);
  return {
    system: textOf(asObject(request.systemInstruction) ?? {}),
    question: textOf(contents[asked] ?? {}),
    earlier: contents.slice(0, Math.max(0, asked)).filter(hasText).map(textOf),
    media: mediaOf(objectsIn(contents[asked]?.parts), "contents"),
    outcomes: partsOf(last, "functionResponse").map((answer) => {
      const response = asObject(answer.response) ?? {};
      return {
        name: asText(answer.name),
        text: JSON.stringify(response),
        isError: response.error !== undefined,
        media: mediaOf(objectsIn(answer.parts), "function_response"),
      };
    }),
    toolRounds: contents.slice(asked + 1)
      .filter((content) => partsOf(content, "functionCall").length > 0).length,
    allToolRounds: contents.filter((one) => partsOf(one, "functionCall").length > 0).length,
    tools: objectsIn(request.tools).flatMap((tool) => objectsIn(tool.functionDeclarations))
      .map((declaration) => ({
        name: asText(declaration.name),
        description: asText(declaration.description),
        schema: declaration.parameters ?? declaration.parametersJsonSchema ?? null,
        isFreeText: false,
      })),
    toolMode: toolMode(calling),
    mayCallSeveral: true,
    json: mime === "application/json" || mime === "text/x.enum"
      ? { schema: config.responseSchema ?? config.responseJsonSchema ?? null }
      : null,
    reasoningSentences: 0,
    maxTokens: asNumber(config.maxOutputTokens),
    stop: asArray(config.stopSequences).map((stop) => asText(stop)),
    hasPreamble: false,
    headerNames,
    search: hasSearch(request) && calling?.mode !== "NONE"
      ? { isDemanded: false, maxUses: null, hosts: [] }
      : null,
  };
}

export function hasSearch(request: JsonObject): boolean {
  return objectsIn(request.tools).some((tool) => tool.googleSearch !== undefined);
}

function toolMode(calling: JsonObject | null): Prompt["toolMode"] {
  const names = asArray(calling?.allowedFunctionNames).map((name) => asText(name));
  if (calling?.mode === "NONE") return { kind: "none" };
  return calling?.mode === "ANY" ? { kind: "forced", names } : { kind: "auto" };
}

function textOf(content: JsonObject): string {
  return objectsIn(content.parts).filter((part) => part.thought !== true)
    .map((part) => asText(part.text)).filter((text) => text !== "").join("\n");
}
