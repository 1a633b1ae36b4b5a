/** Fields of the messages dialect, held to the vendor's published types by `satisfies`. */
import type {
  DocumentBlockParam,
  ImageBlockParam,
  MessageCountTokensParams,
  MessageCreateParamsBase,
  RedactedThinkingBlockParam,
  SearchResultBlockParam,
  TextBlockParam,
  ThinkingBlockParam,
  Tool,
  ToolReferenceBlockParam,
  ToolResultBlockParam,
  ToolUseBlockParam,
} from "@anthropic-ai/sdk/resources/messages/messages";
import { type Rule } from "./rules.ts";

const text: Rule = { is: "string" };
const needed: Rule = { is: "string", required: true };
const optionalText: Rule = { is: "string", nullable: true };
const object: Rule = { is: "object", nullable: true };
const list: Rule = { is: "array" };
const flag: Rule = { is: "boolean", nullable: true };

const COUNTED = {
  model: needed,
  messages: { is: "array", required: true },
  cache_control: object,
  output_config: { is: "object" },
  speed: optionalText,
  system: { is: ["string", "array"] },
  thinking: { is: "object" },
  tool_choice: { is: "object" },
  tools: list,
  user_profile_id: text,
  workspace_id: text,
} satisfies Record<keyof MessageCountTokensParams, Rule>;

export const COUNT_BODY: Record<string, Rule> = COUNTED;

export const BODY = {
  ...COUNTED,
  max_tokens: { is: "integer", required: true, min: 0 },
  container: { is: ["string", "object"], nullable: true },
  diagnostics: object,
  inference_geo: optionalText,
  metadata: { is: "object" },
  service_tier: { is: "string", oneOf: ["auto", "standard_only"] },
  stop_sequences: list,
  stream: { is: "boolean" },
  context_management: object,
  mcp_servers: list,
} satisfies Record<keyof MessageCreateParamsBase | "context_management" | "mcp_servers", Rule>;

/** The former name of `output_config.format`, which the vendor's types still have. */
const formerFormat = { output_format: object } satisfies Record<string, Rule>;

/** Body fields that a beta adds. */
export const BODY_BETAS: Readonly<Record<string, Record<string, Rule>>> = {
  "structured-outputs-2025-11-13": formerFormat,
  "structured-outputs-2025-12-15": formerFormat,
  "compact-2026-09-04": { compaction: object },
};

/** Fields that exist only under the older version header. */
export const SAMPLING = {
  temperature: { is: "number", min: 0, max: 1 },
  top_p: { is: "number", min: 0, max: 1 },
  top_k: { is: "integer", min: 0 },
} satisfies Record<string, Rule>;

export const MESSAGE = {
  role: { is: "string", required: true, oneOf: ["user", "assistant", "system"] },
  content: { is: ["string", "array"], required: true },
} satisfies Record<string, Rule>;

const perTurn = { output_config: { is: "object", nullable: true } } satisfies Record<string, Rule>;

/** Fields that a beta adds to messages of the role `system`. */
export const SYSTEM_MESSAGE_BETAS: Readonly<Record<string, Record<string, Rule>>> = {
  "mid-conversation-output-config-2026-07-01": perTurn,
  // The name that Claude Code 2.1.330 uses.
  "per-turn-control-2026-07-01": perTurn,
  "mid-conversation-system-clear-at-2026-08-21": {
    clear_at: { is: "string", nullable: true, oneOf: ["next_user_message", "never"] },
  },
};

const cache_control = object;

export const BLOCKS: Readonly<Record<string, Record<string, Rule>>> = {
  text: {
    type: needed,
    text: needed,
    cache_control,
    citations: { is: "array", nullable: true },
  } satisfies Record<keyof TextBlockParam, Rule>,
  image: {
    type: needed,
    source: { is: "object", required: true },
    cache_control,
    transformations: object,
  } satisfies Record<keyof ImageBlockParam | "transformations", Rule>,
  document: {
    type: needed,
    source: { is: "object", required: true },
    cache_control,
    citations: object,
    context: optionalText,
    title: optionalText,
  } satisfies Record<keyof DocumentBlockParam, Rule>,
  search_result: {
    type: needed,
    content: { is: "array", required: true },
    source: needed,
    title: needed,
    cache_control,
    citations: object,
  } satisfies Record<keyof SearchResultBlockParam, Rule>,
  tool_use: {
    type: needed,
    id: needed,
    name: needed,
    input: { is: "object", required: true },
    cache_control,
    caller: object,
    toolset_name: optionalText,
  } satisfies Record<keyof ToolUseBlockParam, Rule>,
  tool_reference: {
    type: needed,
    tool_name: needed,
    cache_control,
  } satisfies Record<keyof ToolReferenceBlockParam, Rule>,
  tool_result: {
    type: needed,
    tool_use_id: needed,
    content: { is: ["string", "array"] },
    is_error: flag,
    cache_control,
    toolset_name: optionalText,
  } satisfies Record<keyof ToolResultBlockParam, Rule>,
  thinking: {
    type: needed,
    thinking: needed,
    signature: needed,
  } satisfies Record<keyof ThinkingBlockParam, Rule>,
  redacted_thinking: { type: needed, data: needed } satisfies Record<
    keyof RedactedThinkingBlockParam,
    Rule
  >,
};

/** Which blocks a role's content may hold. */
export const BLOCKS_OF_ROLE: Readonly<Record<string, readonly string[]>> = {
  user: ["text", "image", "document", "search_result", "tool_result"],
  assistant: ["text", "tool_use", "thinking", "redacted_thinking"],
  system: ["text"],
};

export const RESULT_BLOCKS = ["text", "image", "document", "search_result", "tool_reference"];

export const TOOL = {
  name: needed,
  input_schema: { is: "object", required: true },
  type: optionalText,
  description: text,
  cache_control,
  strict: { is: "boolean" },
  allowed_callers: list,
  defer_loading: { is: "boolean" },
  eager_input_streaming: flag,
  input_examples: list,
} satisfies Record<keyof Tool, Rule>;

export const THINKING: Readonly<Record<string, Record<string, Rule>>> = {
  enabled: {
    type: needed,
    budget_tokens: { is: "integer", required: true, min: 1024 },
    display: optionalText,
    block_binding: { is: "object", nullable: true },
  },
  adaptive: {
    type: needed,
    display: optionalText,
    block_binding: { is: "object", nullable: true },
  },
  disabled: { type: needed },
  between_tools: { type: needed },
};

export const TOOL_CHOICE: Readonly<Record<string, Record<string, Rule>>> = {
  auto: { type: needed, disable_parallel_tool_use: { is: "boolean" } },
  any: { type: needed, disable_parallel_tool_use: { is: "boolean" } },
  tool: { type: needed, name: needed, disable_parallel_tool_use: { is: "boolean" } },
  none: { type: needed },
};

export const OUTPUT_CONFIG = {
  effort: { is: "string", nullable: true, oneOf: ["low", "medium", "high", "xhigh", "max"] },
  format: object,
} satisfies Record<string, Rule>;
