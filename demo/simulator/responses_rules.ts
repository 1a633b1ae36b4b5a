/** Fields of the responses dialect, held to the vendor's published types by `satisfies`. */
import type {
  EasyInputMessage,
  FunctionTool,
  ResponseCompactParams,
  ResponseCreateParamsBase,
  ResponseCustomToolCall,
  ResponseFunctionToolCall,
  ResponseInputFile,
  ResponseInputImage,
  ResponseInputText,
  ResponseReasoningItem,
  ResponseToolSearchOutputItemParam,
} from "openai/resources/responses/responses";
import type { InputTokenCountParams } from "openai/resources/responses/input-tokens";
import { type Rule } from "./rules.ts";

const text: Rule = { is: "string" };
const needed: Rule = { is: "string", required: true };
const optionalText: Rule = { is: "string", nullable: true };
const flag: Rule = { is: "boolean", nullable: true };
const object: Rule = { is: "object", nullable: true };
const list: Rule = { is: "array" };

export const BODY = {
  model: needed,
  input: { is: ["string", "array"] },
  access_programs: object,
  background: flag,
  background_options: { is: "object" },
  // Not in the published type, but the vendor's own agent sends it.
  client_metadata: object,
  context_management: { is: "array", nullable: true },
  conversation: { is: ["string", "object"], nullable: true },
  image: object,
  include: { is: "array", nullable: true },
  instructions: optionalText,
  max_output_tokens: { is: "integer", nullable: true, min: 16 },
  max_tool_calls: { is: "integer", nullable: true, min: 1 },
  metadata: object,
  moderation: object,
  parallel_tool_calls: flag,
  previous_response_id: optionalText,
  prompt: object,
  prompt_cache_key: optionalText,
  prompt_cache_options: object,
  prompt_cache_retention: optionalText,
  reasoning: object,
  safety_identifier: optionalText,
  service_tier: optionalText,
  store: flag,
  stream: flag,
  stream_options: object,
  temperature: { is: "number", nullable: true, min: 0, max: 2 },
  text: { is: "object" },
  tool_choice: { is: ["string", "object"] },
  tools: list,
  top_logprobs: { is: "integer", nullable: true, min: 0, max: 20 },
  top_p: { is: "number", nullable: true, min: 0, max: 1 },
  truncation: { is: "string", nullable: true, oneOf: ["auto", "disabled"] },
  user: text,
} satisfies Record<keyof ResponseCreateParamsBase | "client_metadata", Rule>;

/** The body of a request to count tokens. */
export const COUNT_BODY = {
  model: needed,
  input: { is: ["string", "array"], nullable: true },
  conversation: { is: ["string", "object"], nullable: true },
  instructions: optionalText,
  parallel_tool_calls: flag,
  personality: text,
  previous_response_id: optionalText,
  reasoning: object,
  text: object,
  tool_choice: { is: ["string", "object"], nullable: true },
  tools: { is: "array", nullable: true },
  truncation: { is: "string", oneOf: ["auto", "disabled"] },
} satisfies Record<keyof InputTokenCountParams, Rule>;

/** The body of a request to compact. */
export const COMPACT_BODY = {
  model: needed,
  input: { is: ["string", "array"], nullable: true },
  image: object,
  instructions: optionalText,
  previous_response_id: optionalText,
  prompt_cache_key: optionalText,
  prompt_cache_options: object,
  prompt_cache_retention: optionalText,
  service_tier: optionalText,
} satisfies Record<keyof ResponseCompactParams, Rule>;

/** The web search in all its versions (`WebSearchTool`, `WebSearchPreviewTool`). */
export const SEARCH: Record<string, Rule> = {
  type: needed,
  external_web_access: { is: "boolean" },
  filters: object,
  search_context_size: { is: "string", oneOf: ["low", "medium", "high"] },
  search_content_types: list,
  user_location: object,
};

/** Fields that Codex (0.169.0, its built-in provider) adds to items for this vendor alone. */
const agentFields = { internal_chat_message_metadata_passthrough: object };

const OUTPUT = {
  ...agentFields,
  type: needed,
  id: optionalText,
  call_id: needed,
  output: { is: ["string", "array"], required: true },
  status: optionalText,
  name: text,
  caller: object,
} satisfies Record<string, Rule>;

export const ITEMS: Readonly<Record<string, Record<string, Rule>>> = {
  message: {
    ...agentFields,
    type: text,
    role: { is: "string", required: true, oneOf: ["user", "assistant", "system", "developer"] },
    content: { is: ["string", "array"], required: true },
    phase: optionalText,
    id: text,
    status: optionalText,
  } satisfies Record<keyof EasyInputMessage | "id" | "status", Rule>,
  function_call: {
    ...agentFields,
    type: needed,
    id: text,
    call_id: needed,
    name: needed,
    arguments: needed,
    status: optionalText,
    async: flag,
    namespace: optionalText,
    caller: object,
  } satisfies Record<keyof ResponseFunctionToolCall, Rule>,
  // Not in the published types: what one of Codex's agents writes to another.
  agent_message: {
    ...agentFields,
    type: needed,
    id: text,
    author: needed,
    recipient: needed,
    content: { is: "array", required: true },
  },
  function_call_output: OUTPUT,
  custom_tool_call: {
    ...agentFields,
    type: needed,
    id: text,
    call_id: needed,
    name: needed,
    input: needed,
    // Answers have a status, and clients send items back unchanged.
    status: optionalText,
    namespace: optionalText,
    caller: object,
    async: flag,
  } satisfies Partial<Record<keyof ResponseCustomToolCall, Rule>> & Record<string, Rule>,
  custom_tool_call_output: OUTPUT,
  reasoning: {
    ...agentFields,
    type: needed,
    id: text,
    summary: { is: "array", required: true },
    // Codex, OpenAI's own agent, sends null if there is none.
    content: { is: "array", nullable: true },
    encrypted_content: optionalText,
    status: optionalText,
  } satisfies Record<keyof ResponseReasoningItem, Rule>,
  tool_search_output: {
    ...agentFields,
    type: needed,
    id: optionalText,
    call_id: optionalText,
    execution: { is: "string", oneOf: ["server", "client"] },
    status: optionalText,
    tools: { is: "array", required: true },
  } satisfies Record<keyof ResponseToolSearchOutputItemParam, Rule> & Record<string, Rule>,
  additional_tools: {
    type: needed,
    id: optionalText,
    role: { is: "string", required: true, oneOf: ["developer"] },
    tools: { is: "array", required: true },
  },
  item_reference: { type: optionalText, id: needed },
};

/** How the ids of an item's type begin. */
export const ID_PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  function_call: "fc",
  custom_tool_call: "ctc",
  reasoning: "rs",
};

const breakpoint: Rule = object;

export const PARTS: Readonly<Record<string, Record<string, Rule>>> = {
  input_text: { type: needed, text: needed, prompt_cache_breakpoint: breakpoint } satisfies Record<
    keyof ResponseInputText,
    Rule
  >,
  encrypted_content: { type: needed, encrypted_content: needed },
  input_image: {
    type: needed,
    image_url: optionalText,
    file_id: optionalText,
    detail: { is: "string", nullable: true, oneOf: ["auto", "low", "high", "original"] },
    prompt_cache_breakpoint: breakpoint,
  } satisfies Record<keyof ResponseInputImage, Rule>,
  input_file: {
    type: needed,
    file_data: text,
    file_url: text,
    file_id: optionalText,
    filename: text,
    detail: text,
    prompt_cache_breakpoint: breakpoint,
  } satisfies Record<keyof ResponseInputFile, Rule>,
  input_audio: { type: needed, input_audio: { is: "object", required: true } },
  output_text: { type: needed, text: needed, annotations: list, logprobs: list },
  refusal: { type: needed, refusal: needed },
};

export const INPUT_PARTS = ["input_text", "input_image", "input_file", "input_audio"];
export const AGENT_PARTS = ["input_text", "encrypted_content"];
export const OUTPUT_PARTS = ["output_text", "refusal"];

export const FUNCTION_TOOL = {
  type: needed,
  name: needed,
  parameters: object,
  strict: flag,
  description: optionalText,
  allowed_callers: { is: "array", nullable: true },
  async: { is: "boolean" },
  defer_loading: { is: "boolean" },
  output_schema: object,
} satisfies Record<keyof FunctionTool, Rule>;
