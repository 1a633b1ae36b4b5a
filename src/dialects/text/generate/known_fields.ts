import { all, type KnownFieldSet } from "../../kernel/other_fields.ts";

const inlineData: KnownFieldSet = { mimeType: true, data: true, displayName: true };
const fileData: KnownFieldSet = { mimeType: true, fileUri: true, displayName: true };

/** Not a field of this dialect, but gateways in front of other vendors accept it. */
const cacheControl: KnownFieldSet = { type: true, ttl: true };

const part: KnownFieldSet = {
  text: true,
  inlineData,
  fileData,
  functionCall: { name: true, args: true, id: true },
  functionResponse: {
    name: true,
    response: true,
    id: true,
    parts: { inlineData, fileData, mediaResolution: { level: true } },
  },
  executableCode: { language: true, code: true, id: true },
  codeExecutionResult: { outcome: true, output: true, id: true },
  thought: true,
  thoughtSignature: true,
  mediaResolution: { level: true },
  // Reported elsewhere, with a weight of their own or whole.
  toolCall: true,
  toolResponse: true,
  videoMetadata: true,
  cacheControl,
};

/** What the decoder reads of `generationConfig`. */
export const knownConfig = {
  maxOutputTokens: true,
  temperature: true,
  topP: true,
  topK: true,
  stopSequences: true,
  candidateCount: true,
  seed: true,
  frequencyPenalty: true,
  presencePenalty: true,
  responseLogprobs: true,
  logprobs: true,
  responseMimeType: true,
  responseSchema: true,
  responseJsonSchema: true,
  thinkingConfig: { includeThoughts: true, thinkingBudget: true, thinkingLevel: true },
  mediaResolution: true,
} as const satisfies Readonly<Record<string, KnownFieldSet>>;

/**
 * What the decoder reads of a generate request, in camel case. Other members of `tools` and
 * `generationConfig` are reported elsewhere, with weights of their own.
 */
export const knownFields: Readonly<Record<string, KnownFieldSet>> = {
  model: true,
  stream: true,
  serviceTier: true,
  contents: { role: true, parts: part },
  systemInstruction: { role: true, parts: { text: true, cacheControl } },
  tools: {
    functionDeclarations: {
      ...all("name description parameters parametersJsonSchema"),
      cacheControl,
    },
    "*": true,
  },
  toolConfig: {
    functionCallingConfig: { mode: true, allowedFunctionNames: true },
    // The gateway sets it where it is needed, whatever the caller sends.
    includeServerSideToolInvocations: true,
  },
  generationConfig: { ...knownConfig, "*": true },
};
