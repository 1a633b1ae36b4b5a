import { borrowedFields } from "../../../kernel/borrowed_fields.ts";
import type { UnsupportedField } from "../../../kernel/canonical_request.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { readModalities } from "../../../kernel/modalities.ts";
import { unknownFields } from "../../../kernel/other_fields.ts";
import { isSearchType } from "../../../kernel/web_search.ts";
import { isVendorTool, knownFields } from "../known_fields.ts";
import { searchToolIndex } from "./decode_search.ts";

const { web_search_options: _, ...withoutSearch } = knownFields;

/**
 * Returns the fields of a chat request that other dialects can't express. Audio output and
 * moderation change the answer; all others are hints.
 */
export function unsupportedFields(request: JsonRecord): UnsupportedField[] {
  // These options define the web search unless there is a search tool.
  const isSearch = isRecord(request.web_search_options) && searchToolIndex(request) === -1;
  return [
    ...unknownFields(request, isSearch ? knownFields : withoutSearch, {
      weightOf: (name) => name === "modalities" || name === "audio" ? "meaning" : "hint",
      others: borrowedFields.chat,
      changesNothing: (name, value) =>
        name === "modalities"
          ? readModalities(value) !== undefined
          : name === "store" && value === false,
    }),
    ...storedAudio(request.messages),
    ...vendorWork(request),
  ];
}

/** Tools that the vendor runs, and a tool choice that names one. */
function vendorWork(request: JsonRecord): UnsupportedField[] {
  const { tools, tool_choice: choice } = request;
  const search = searchToolIndex(request);
  const found = (Array.isArray(tools) ? tools : []).flatMap((tool: unknown, index) =>
    isVendorTool(tool) && index !== search
      ? [{ path: `tools[${index}]`, value: tool, weight: "meaning" as const }]
      : []
  );
  const searches = search !== -1 || isRecord(request.web_search_options);
  const isSearch = searches && isRecord(choice) && isSearchType(choice.type);
  return isVendorTool(choice) && !isSearch
    ? [...found, { path: "tool_choice", value: choice, weight: "meaning" }]
    : found;
}

/**
 * Returns the earlier answers whose audio is stored at the vendor: the spoken content is lost with
 * it.
 */
function storedAudio(messages: unknown): UnsupportedField[] {
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((message: unknown, index): UnsupportedField[] => {
    if (!isRecord(message) || message.role !== "assistant" || !isRecord(message.audio)) return [];
    return [{ path: `messages[${index}].audio`, value: message.audio, weight: "meaning" }];
  });
}
