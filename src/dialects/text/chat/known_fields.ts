import { asList, asRecord, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { all, fieldsOf, isEmptyValue, type KnownFieldSet } from "../../kernel/other_fields.ts";
import { knownMark } from "../../kernel/read_cache_mark.ts";
import { isSearchType } from "../../kernel/web_search.ts";

const url: KnownFieldSet = { url: true, detail: true };

/** The fields of each part type's content, which is in the member named after the type. */
const ofPart: Readonly<Record<string, KnownFieldSet>> = {
  text: true,
  refusal: true,
  image_url: url,
  video_url: { url: true },
  input_audio: { data: true, format: true },
  file: { file_data: true, filename: true, file_id: true },
};

function part({ type }: JsonRecord): KnownFieldSet | undefined {
  const name = String(type);
  if (!Object.hasOwn(ofPart, name)) return undefined;
  return { type: true, [name]: ofPart[name]!, ...knownMark };
}

const named: KnownFieldSet = { name: true };

/** Calls put together from a stream keep their `index`. */
const call: KnownFieldSet = {
  id: true,
  type: true,
  index: true,
  function: { name: true, arguments: true },
  custom: { name: true, input: true },
  extra_content: true,
  ...knownMark,
};

/**
 * Clients send an answer back with fields that they didn't write (sources, the vendor's reasoning);
 * dropping those is no loss. Dropping audio that is stored at the vendor is a loss, which is
 * reported separately (`storedAudio`).
 */
const assistant: KnownFieldSet = {
  role: true,
  content: part,
  refusal: true,
  tool_calls: call,
  function_call: { name: true, arguments: true },
  ...all("annotations reasoning_content reasoning reasoning_details thinking_blocks audio"),
  ...knownMark,
};

const ofRole: Readonly<Record<string, KnownFieldSet>> = {
  system: { role: true, content: part, ...knownMark },
  developer: { role: true, content: part, ...knownMark },
  user: { role: true, content: part, name: true, ...knownMark },
  assistant,
  tool: { role: true, content: part, tool_call_id: true, name: true, ...knownMark },
  function: { role: true, content: part, name: true, ...knownMark },
};

const ofFunction: KnownFieldSet = { ...all("name description parameters strict"), ...knownMark };

const location: KnownFieldSet = { city: true, country: true, region: true, timezone: true };

const search: KnownFieldSet = {
  type: true,
  search_context_size: true,
  user_location: { type: true, approximate: location, ...location },
  ...all("allowed_domains blocked_domains excluded_domains max_uses"),
  ...knownMark,
};

const ofTool: KnownFieldSet = {
  type: true,
  function: ofFunction,
  custom: { name: true, description: true, format: true },
  ...knownMark,
};

const toolName: KnownFieldSet = { type: true, function: named, custom: named, name: true };

/** The fields of a chat request that the decoder reads. */
export const knownFields: Readonly<Record<string, KnownFieldSet>> = {
  ...all(
    "model stream max_completion_tokens max_tokens temperature top_p top_k n stop " +
      "frequency_penalty presence_penalty logit_bias logprobs top_logprobs seed " +
      "parallel_tool_calls reasoning_effort verbosity service_tier metadata user safety_identifier " +
      "prompt_cache_key prompt_cache_retention",
  ),
  messages: ({ role }) => fieldsOf(ofRole, role),
  tools: (tool) => isSearchType(tool.type) ? search : isVendorTool(tool) ? undefined : ofTool,
  web_search_options: search,
  functions: ofFunction,
  tool_choice: (choice) =>
    isRecord(choice.allowed_tools)
      ? { type: true, allowed_tools: { mode: true, tools: toolName } }
      : isVendorTool(choice)
      ? undefined
      : toolName,
  function_call: named,
  response_format: {
    type: true,
    json_schema: { name: true, description: true, schema: true, strict: true },
  },
  reasoning: { effort: true, max_tokens: true, exclude: true },
  prompt_cache_options: { mode: true, ttl: true },
  stream_options: { include_usage: true },
  usage: { include: true },
};

const ofAssistants = { ...ofRole, assistant: { ...assistant, name: true } } as const;

/**
 * The fields that the decoder reads of this request. A name that all assistants share tells no
 * speakers apart: LangChain's agents send their own with each of their messages.
 */
export function knownFieldsIn({ messages }: JsonRecord): typeof knownFields {
  const names = new Set(
    asList(messages).map(asRecord).filter(({ role }) => role === "assistant")
      .map(({ name }) => name).filter((name) => !isEmptyValue(name)),
  );
  if (names.size > 1) return knownFields;
  return { ...knownFields, messages: ({ role }) => fieldsOf(ofAssistants, role) };
}

/** Whether the vendor, not the caller, runs this tool, or the tool that this choice names. */
export function isVendorTool(tool: unknown): boolean {
  return isRecord(tool) && typeof tool.type === "string" && !callersKinds.includes(tool.type);
}

const callersKinds = ["function", "custom", "allowed_tools"];
