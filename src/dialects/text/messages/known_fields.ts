import type { JsonRecord } from "../../kernel/json.ts";
import { all, fieldsOf, type KnownFieldSet } from "../../kernel/other_fields.ts";
import { knownMark } from "../../kernel/read_cache_mark.ts";
import { changesTools, isFunction, isPlaceholder, isSearchTool } from "./request/decode_tools.ts";

const { cache_control } = knownMark;

const ofSource: Readonly<Record<string, KnownFieldSet>> = {
  base64: { type: true, media_type: true, data: true },
  text: { type: true, media_type: true, data: true },
  url: { type: true, url: true },
  file: { type: true, file_id: true },
  content: { type: true, content: (block) => block.type === "image" ? image : text },
};

const source = (record: JsonRecord): KnownFieldSet | undefined => fieldsOf(ofSource, record.type);

const text: KnownFieldSet = { type: true, text: true, cache_control };
const image: KnownFieldSet = { type: true, source, cache_control };
/** None is read, but `enabled: false` is no loss. */
const citations = (): KnownFieldSet => ({});

const ofBlock: Readonly<Record<string, KnownFieldSet>> = {
  text,
  image,
  document: { type: true, source, title: true, citations, cache_control },
  search_result: { ...all("type title source"), content: text, citations, cache_control },
  tool_use: { type: true, id: true, name: true, input: true, caller: true, cache_control },
  tool_result: {
    ...all("type tool_use_id is_error"),
    content: (record) => block(record),
    cache_control,
  },
  thinking: { type: true, thinking: true, signature: true },
  redacted_thinking: { type: true, data: true },
  compaction: { ...all("type content signature"), tool_changes: (change) => changeOf(change) },
  tool_addition: (block) => changeOf(block),
  tool_removal: (block) => changeOf(block),
};

const block = (record: JsonRecord): KnownFieldSet | undefined => fieldsOf(ofBlock, record.type);

/** The text of an earlier answer, which the caller sends back with sources that it didn't write. */
const answered: KnownFieldSet = { type: true, text: true, cache_control, citations: true };

/**
 * The fields of a messages request that the decoder reads. Blocks and tools of other kinds are
 * reported as a whole.
 */
export const knownFields: Readonly<Record<string, KnownFieldSet>> = {
  ...all(
    "model max_tokens stop_sequences stream temperature top_p top_k service_tier cache_control",
  ),
  system: text,
  messages: ({ role }) => ({
    role: true,
    cache_control,
    ...(role === "system" ? { output_config: { effort: true } } : {}),
    content: role === "assistant"
      ? (record) => record.type === "text" ? answered : block(record)
      : block,
  }),
  tools: offered,
  tool_choice: { type: true, name: true, disable_parallel_tool_use: true },
  thinking: { type: true, budget_tokens: true, display: true },
  output_config: { format: { type: true, schema: true }, effort: true },
  output_format: { type: true, schema: true },
  metadata: { user_id: true },
  compaction: { type: true, instructions: true },
  thread: true,
};

function offered(one: JsonRecord): KnownFieldSet | undefined {
  if (isSearchTool(one)) return search;
  return isFunction(one) && !isPlaceholder(one) ? tool : undefined;
}

function changeOf(block: JsonRecord): KnownFieldSet | undefined {
  return changesTools(block)
    ? { type: true, tool: { type: true, name: true, definition: offered }, cache_control }
    : undefined;
}

const search: KnownFieldSet = {
  ...all("type name allowed_domains blocked_domains max_uses"),
  user_location: { type: true, city: true, country: true, region: true, timezone: true },
  cache_control,
};

const tool: KnownFieldSet = { ...all("type name description input_schema strict"), cache_control };
