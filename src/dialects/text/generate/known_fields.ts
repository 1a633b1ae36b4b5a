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
    ...all("name response id"),
    parts: { inlineData, fileData, mediaResolution: { level: true } },
  },
  executableCode: { language: true, code: true, id: true },
  codeExecutionResult: { outcome: true, output: true, id: true },
  ...all("thought thoughtSignature"),
  mediaResolution: { level: true },
  // Reported elsewhere, with their own weight or as a whole.
  ...all("toolCall toolResponse videoMetadata"),
  cacheControl,
};

/** The fields of `generationConfig` that the decoder reads. */
export const knownConfig: Readonly<Record<string, KnownFieldSet>> = {
  ...all("maxOutputTokens temperature topP topK stopSequences candidateCount seed"),
  ...all("frequencyPenalty presencePenalty responseLogprobs logprobs"),
  ...all("responseMimeType responseSchema responseJsonSchema mediaResolution"),
  thinkingConfig: { includeThoughts: true, thinkingBudget: true, thinkingLevel: true },
};

/**
 * The fields of a generate request that the decoder reads, in camel case. Other members of `tools`
 * and `generationConfig` are reported elsewhere, with their own weights.
 */
export const knownFields: Readonly<Record<string, KnownFieldSet>> = {
  ...all("model stream serviceTier"),
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
