/**
 * The protobuf messages that callers may send to the generate vendor, held to the published client
 * types by `satisfies`. A field's value is its scalar kind or message, or a list (`[]`) of one.
 */
import type {
  Content,
  FunctionCall,
  FunctionCallingConfig,
  FunctionDeclaration,
  FunctionResponse,
  GenerationConfig,
  Part,
  SafetySetting,
  Schema,
  ThinkingConfig,
  Tool,
  ToolConfig,
} from "@google/genai";

export type Fields = Readonly<Record<string, string>>;

type Unavailable = "modelSelectionConfig" | "routingConfig" | "enableAffectiveDialog";
type CloudTool =
  | "retrieval"
  | "enterpriseWebSearch"
  | "exaAiSearch"
  | "parallelAiSearch";

const GENERATION_CONFIG = {
  audioTimestamp: "boolean",
  audioTranscriptionConfig: "any",
  candidateCount: "integer",
  enableEnhancedCivicAnswers: "boolean",
  frequencyPenalty: "number",
  imageConfig: "any",
  logprobs: "integer",
  maxOutputTokens: "integer",
  mediaResolution: "string",
  presencePenalty: "number",
  responseFormat: "any",
  responseJsonSchema: "any",
  responseLogprobs: "boolean",
  responseMimeType: "string",
  responseModalities: "string[]",
  responseSchema: "Schema",
  seed: "integer",
  speechConfig: "any",
  stopSequences: "string[]",
  temperature: "number",
  thinkingConfig: "ThinkingConfig",
  topK: "number",
  topP: "number",
  translationConfig: "any",
} satisfies Record<Exclude<keyof GenerationConfig, Unavailable> | "imageConfig", string>;

const PART = {
  audioTranscription: "any",
  codeExecutionResult: "any",
  executableCode: "any",
  fileData: "FileData",
  functionCall: "FunctionCall",
  functionResponse: "FunctionResponse",
  inlineData: "Blob",
  mediaProcessing: "any",
  mediaResolution: "any",
  partMetadata: "any",
  speechMetadata: "any",
  text: "string",
  thought: "boolean",
  thoughtSignature: "string",
  toolCall: "any",
  toolResponse: "any",
  videoMetadata: "any",
} satisfies Record<keyof Part, string>;

/** The data members of a part, which has exactly one of them. */
export const PART_DATA: readonly (keyof Part)[] = [
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
];

export const SCHEMA = {
  anyOf: "Schema[]",
  default: "any",
  description: "string",
  enum: "string[]",
  example: "any",
  format: "string",
  items: "Schema",
  maxItems: "integer",
  maxLength: "integer",
  maxProperties: "integer",
  maximum: "number",
  minItems: "integer",
  minLength: "integer",
  minProperties: "integer",
  minimum: "number",
  nullable: "boolean",
  pattern: "string",
  properties: "Schema{}",
  propertyOrdering: "string[]",
  required: "string[]",
  title: "string",
  type: "Type",
} satisfies Record<keyof Schema, string>;

const GENERATE_CONTENT_REQUEST = {
  model: "string",
  contents: "Content[]",
  systemInstruction: "Content",
  tools: "Tool[]",
  toolConfig: "ToolConfig",
  safetySettings: "SafetySetting[]",
  generationConfig: "GenerationConfig",
  cachedContent: "string",
  serviceTier: "string",
  store: "boolean",
  continuationToken: "string",
  generationOutputConfig: "any",
};

export const MESSAGES: Readonly<Record<string, Fields>> = {
  GenerateContentRequest: GENERATE_CONTENT_REQUEST,
  CountTokensRequest: {
    contents: "Content[]",
    generateContentRequest: "GenerateContentRequest",
  },
  BatchEmbedContentsRequest: { requests: "EmbedContentRequest[]" },
  EmbedContentRequest: {
    model: "string",
    content: "Content",
    taskType: "string",
    title: "string",
    outputDimensionality: "integer",
  },
  Content: { role: "string", parts: "Part[]" } satisfies Record<keyof Content, string>,
  Part: PART,
  Blob: { mimeType: "string", data: "string", displayName: "string" },
  FileData: { mimeType: "string", fileUri: "string", displayName: "string" },
  FunctionCall: {
    args: "Struct",
    id: "string",
    name: "string",
    partialArgs: "any",
    willContinue: "boolean",
  } satisfies Record<keyof FunctionCall, string>,
  FunctionResponse: {
    id: "string",
    name: "string",
    parts: "any",
    response: "Struct",
    scheduling: "string",
    willContinue: "boolean",
  } satisfies Record<keyof FunctionResponse, string>,
  Tool: {
    codeExecution: "any",
    computerUse: "any",
    fileSearch: "any",
    functionDeclarations: "FunctionDeclaration[]",
    googleMaps: "any",
    googleSearch: "any",
    googleSearchRetrieval: "any",
    mcpServers: "any",
    urlContext: "any",
  } satisfies Record<Exclude<keyof Tool, CloudTool>, string>,
  FunctionDeclaration: {
    behavior: "string",
    description: "string",
    name: "string",
    parameters: "Schema",
    parametersJsonSchema: "any",
    response: "Schema",
    responseJsonSchema: "any",
  } satisfies Record<keyof FunctionDeclaration, string>,
  ToolConfig: {
    functionCallingConfig: "FunctionCallingConfig",
    retrievalConfig: "any",
    includeServerSideToolInvocations: "boolean",
  } satisfies Record<keyof ToolConfig, string>,
  FunctionCallingConfig: {
    allowedFunctionNames: "string[]",
    mode: "string",
    streamFunctionCallArguments: "boolean",
  } satisfies Record<keyof FunctionCallingConfig, string>,
  SafetySetting: {
    category: "string",
    threshold: "string",
  } satisfies Record<Exclude<keyof SafetySetting, "method">, string>,
  GenerationConfig: GENERATION_CONFIG,
  ThinkingConfig: {
    includeThoughts: "boolean",
    thinkingBudget: "integer",
    thinkingLevel: "string",
  } satisfies Record<keyof ThinkingConfig, string>,
  Schema: SCHEMA,
};

export const SCHEMA_TYPES = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];
