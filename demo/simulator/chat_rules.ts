/** Fields of the chat dialect, held to the vendor's published types by `satisfies`. */
import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionContentPartImage,
  ChatCompletionContentPartInputAudio,
  ChatCompletionContentPartRefusal,
  ChatCompletionContentPartText,
  ChatCompletionCreateParamsBase,
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionSystemMessageParam,
  ChatCompletionToolMessageParam,
} from "openai/resources/chat/completions/completions";
import type { FunctionDefinition } from "openai/resources/shared";
import { type Rule } from "./rules.ts";

const text: Rule = { is: "string" };
const flag: Rule = { is: "boolean", nullable: true };
const object: Rule = { is: "object", nullable: true };
const penalty: Rule = { is: "number", nullable: true, min: -2, max: 2 };
const limit: Rule = { is: "integer", nullable: true, min: 1 };

export const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

export const BODY = {
  model: { is: "string", required: true },
  messages: { is: "array", required: true },
  audio: object,
  frequency_penalty: penalty,
  function_call: { is: ["string", "object"] },
  functions: { is: "array" },
  logit_bias: object,
  logprobs: flag,
  max_completion_tokens: limit,
  max_tokens: limit,
  metadata: object,
  modalities: { is: "array", nullable: true },
  moderation: object,
  n: { is: "integer", nullable: true, min: 1, max: 128 },
  parallel_tool_calls: { is: "boolean" },
  prediction: object,
  presence_penalty: penalty,
  prompt_cache_key: { is: "string", nullable: true },
  prompt_cache_options: { is: "object" },
  prompt_cache_retention: { is: "string", nullable: true },
  reasoning_effort: { is: "string", nullable: true, oneOf: EFFORTS },
  response_format: { is: "object" },
  safety_identifier: { is: "string", nullable: true },
  seed: { is: "integer", nullable: true },
  service_tier: { is: "string", nullable: true },
  stop: { is: ["string", "array"], nullable: true },
  store: flag,
  stream: flag,
  stream_options: object,
  temperature: { is: "number", nullable: true, min: 0, max: 2 },
  tool_choice: { is: ["string", "object"] },
  tools: { is: "array" },
  top_logprobs: { is: "integer", nullable: true, min: 0, max: 20 },
  top_p: { is: "number", nullable: true, min: 0, max: 1 },
  user: text,
  verbosity: { is: "string", nullable: true, oneOf: ["low", "medium", "high"] },
  web_search_options: { is: "object" },
} satisfies Record<keyof ChatCompletionCreateParamsBase, Rule>;

const role: Rule = { is: "string", required: true };
const content: Rule = { is: ["string", "array"], required: true };

const SYSTEM = { role, content, name: text } satisfies Record<
  keyof ChatCompletionSystemMessageParam,
  Rule
>;

export const MESSAGES: Readonly<Record<string, Record<string, Rule>>> = {
  system: SYSTEM,
  developer: SYSTEM,
  user: SYSTEM,
  assistant: {
    role,
    content: { is: ["string", "array"], nullable: true },
    refusal: { is: "string", nullable: true },
    name: text,
    audio: object,
    function_call: object,
    tool_calls: { is: "array" },
    // Not in the published type, but clients send answers back unchanged.
    annotations: { is: "array" },
  } satisfies Record<keyof ChatCompletionAssistantMessageParam | "annotations", Rule>,
  tool: {
    role,
    content,
    tool_call_id: { is: "string", required: true },
    // Not in the published type, but the vendor takes it, and LangChain sends it.
    name: text,
  } satisfies Record<keyof ChatCompletionToolMessageParam | "name", Rule>,
  function: {
    role,
    content: { is: "string", nullable: true },
    name: { is: "string", required: true },
  },
};

const breakpoint: Rule = { is: "object" };

export const PARTS: Readonly<Record<string, Record<string, Rule>>> = {
  text: {
    type: role,
    text: { is: "string", required: true },
    prompt_cache_breakpoint: breakpoint,
  } satisfies Record<keyof ChatCompletionContentPartText, Rule>,
  image_url: {
    type: role,
    image_url: { is: "object", required: true },
    prompt_cache_breakpoint: breakpoint,
  } satisfies Record<keyof ChatCompletionContentPartImage, Rule>,
  input_audio: {
    type: role,
    input_audio: { is: "object", required: true },
    prompt_cache_breakpoint: breakpoint,
  } satisfies Record<keyof ChatCompletionContentPartInputAudio, Rule>,
  file: {
    type: role,
    file: { is: "object", required: true },
    prompt_cache_breakpoint: breakpoint,
  } satisfies Record<keyof ChatCompletionContentPart.File, Rule>,
  refusal: { type: role, refusal: { is: "string", required: true } } satisfies Record<
    keyof ChatCompletionContentPartRefusal,
    Rule
  >,
};

/** Which parts a role's content may hold. */
export const PARTS_OF_ROLE: Readonly<Record<string, readonly string[]>> = {
  system: ["text"],
  developer: ["text"],
  tool: ["text"],
  assistant: ["text", "refusal"],
  user: ["text", "image_url", "input_audio", "file"],
};

export const TOOL_CALL = {
  id: { is: "string", required: true },
  type: { is: "string", required: true, oneOf: ["function", "custom"] },
  function: { is: "object" },
  custom: { is: "object" },
} satisfies Record<keyof ChatCompletionMessageFunctionToolCall | "custom", Rule>;

export const FUNCTION = {
  name: { is: "string", required: true },
  description: text,
  parameters: { is: "object" },
  strict: flag,
} satisfies Record<keyof FunctionDefinition, Rule>;
