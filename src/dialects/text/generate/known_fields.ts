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
  // Reported elsewhere, with their own weight or as a whole.
  toolCall: true,
  toolResponse: true,
  videoMetadata: true,
  cacheControl,
};

/** The fields of `generationConfig` that the decoder reads. */
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
 * The fields of a generate request that the decoder reads, in camel case. Other members of `tools`
 * and `generationConfig` are reported elsewhere, with their own weights.
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
