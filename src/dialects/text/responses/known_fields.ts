import type { JsonRecord } from "../../kernel/json.ts";
import { all, fieldsOf, type KnownFieldSet } from "../../kernel/other_fields.ts";
import { knownMark } from "../../kernel/read_cache_mark.ts";
import { isSearchType } from "../../kernel/web_search.ts";
import { isClientSearch } from "./request/offered_tools.ts";

/**
 * Parts of messages and of tool outputs. Callers send a text back with sources that they didn't
 * write.
 */
const ofPart: Readonly<Record<string, KnownFieldSet>> = {
  input_text: { type: true, text: true, ...knownMark },
  output_text: { type: true, text: true, annotations: true, logprobs: true, ...knownMark },
  refusal: { type: true, refusal: true },
  input_image: { type: true, image_url: true, file_id: true, detail: true, ...knownMark },
  input_file: { ...all("type file_data file_url file_id filename detail"), ...knownMark },
  input_audio: { type: true, input_audio: { data: true, format: true } },
  encrypted_content: { type: true, encrypted_content: true },
};

const part = (record: JsonRecord): KnownFieldSet | undefined => fieldsOf(ofPart, record.type);

/**
 * Fields that every output item has when it is sent back, and metadata that Codex adds to each for
 * itself and its own vendor: leaving that out is no loss.
 */
const itemFields: Readonly<Record<string, KnownFieldSet>> = {
  ...{ type: true, id: true, status: true },
  internal_chat_message_metadata_passthrough: true,
};

const call: KnownFieldSet = {
  ...itemFields,
  ...all("call_id name namespace arguments input"),
  ...knownMark,
};
const output: KnownFieldSet = {
  ...itemFields,
  ...all("call_id name namespace"),
  output: part,
  ...knownMark,
};
/** `max_output_length` repeats what the caller has applied already. */
const codingItem: KnownFieldSet = {
  ...itemFields,
  ...all("call_id created_by operation action environment output max_output_length"),
  ...knownMark,
};
/** The tools that were found say themselves that they were deferred, which is over. */
const toolSearchItem: KnownFieldSet = {
  ...itemFields,
  ...all("call_id created_by execution arguments tools"),
  ...knownMark,
};
const ofClientSearch = (fields: KnownFieldSet) => (record: JsonRecord) =>
  isClientSearch(record) ? fields : undefined;
const textFields: KnownFieldSet = { type: true, text: true };

const ofItem: Readonly<Record<string, KnownFieldSet>> = {
  message: { ...itemFields, role: true, content: part, ...knownMark },
  agent_message: { ...itemFields, author: true, recipient: true, content: part },
  function_call: call,
  custom_tool_call: call,
  apply_patch_call: codingItem,
  apply_patch_call_output: codingItem,
  shell_call: codingItem,
  shell_call_output: codingItem,
  local_shell_call: codingItem,
  local_shell_call_output: codingItem,
  tool_search_call: ofClientSearch(toolSearchItem),
  tool_search_output: ofClientSearch(toolSearchItem),
  function_call_output: output,
  custom_tool_call_output: output,
  additional_tools: { ...itemFields, role: true, tools: (record) => tool(record) },
  compaction: { ...itemFields, encrypted_content: true, created_by: true },
  compaction_trigger: itemFields,
  reasoning: { ...itemFields, summary: textFields, content: textFields, encrypted_content: true },
};

const ofTool: Readonly<Record<string, KnownFieldSet>> = {
  function: { ...all("type name description parameters strict"), ...knownMark },
  custom: { type: true, name: true, description: true, format: true, ...knownMark },
  tool_search: ofClientSearch({
    ...all("type execution description parameters"),
    ...knownMark,
  }),
  apply_patch: { type: true, ...knownMark },
  local_shell: { type: true, ...knownMark },
  shell: { type: true, environment: true, ...knownMark },
};

const tool = (record: JsonRecord): KnownFieldSet | undefined =>
  isSearchType(record.type) ? search : record.type === "namespace"
    // A namespace's own description has no place in other dialects.
    ? { type: true, name: true, tools: tool }
    : fieldsOf(ofTool, record.type);

const search: KnownFieldSet = {
  type: true,
  // `readTools` reports the value false.
  external_web_access: true,
  filters: { allowed_domains: true, blocked_domains: true },
  user_location: { type: true, city: true, country: true, region: true, timezone: true },
  ...all("search_context_size allowed_domains blocked_domains excluded_domains max_uses"),
  ...knownMark,
};

const toolName: KnownFieldSet = { type: true, name: true, namespace: true };

const ofChoice: Readonly<Record<string, KnownFieldSet>> = {
  function: toolName,
  custom: toolName,
  allowed_tools: {
    type: true,
    mode: true,
    tools: ({ type }) => type === "namespace" || fieldsOf(ofTool, type) ? toolName : undefined,
  },
};

/**
 * The fields of a responses request that the decoder, or the gateway itself, reads. Items and tools
 * of other kinds are reported as a whole.
 */
export const knownFields: Readonly<Record<string, KnownFieldSet>> = {
  ...all(
    "model instructions stream store previous_response_id max_output_tokens temperature top_p " +
      "parallel_tool_calls include service_tier metadata user safety_identifier prompt_cache_key",
  ),
  input: (item) => fieldsOf(ofItem, item.type ?? "message"),
  text: {
    format: { type: true, name: true, description: true, schema: true, strict: true },
    verbosity: true,
  },
  tools: tool,
  tool_choice: (choice) => fieldsOf(ofChoice, choice.type),
  reasoning: { effort: true, summary: true, generate_summary: true, mode: true, context: true },
  stream_options: {},
};
