import type { LossWeight, UnsupportedField } from "../../../kernel/canonical_request.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { isSearchType } from "../../../kernel/web_search.ts";
import { isVendorTool, knownFields } from "../known_fields.ts";
import { searchToolIndex } from "./decode_search.ts";

/**
 * The fields of a chat request that other dialects can't express. Audio output and moderation
 * change the answer; all others are hints.
 */
export function unsupportedFields(request: JsonRecord): UnsupportedField[] {
  const search = searchToolIndex(request);
  const fields = Object.entries(request).flatMap(([path, value]): UnsupportedField[] => {
    // These options are the web search unless a tool is.
    const isKnown = path === "web_search_options"
      ? isRecord(value) && search === -1
      : Object.hasOwn(knownFields, path);
    if (isKnown || value === null || value === undefined || isNoOp(path, value)) return [];
    return [{ path, value, weight: weightOf(path) }];
  });
  return [...fields, ...storedAudio(request.messages), ...vendorWork(request)];
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

/** Earlier answers whose audio is stored at the vendor: what was spoken is lost with it. */
function storedAudio(messages: unknown): UnsupportedField[] {
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((message: unknown, index): UnsupportedField[] => {
    if (!isRecord(message) || message.role !== "assistant" || !isRecord(message.audio)) return [];
    return [{ path: `messages[${index}].audio`, value: message.audio, weight: "meaning" }];
  });
}

function isNoOp(path: string, value: unknown): boolean {
  if (path === "modalities") return Array.isArray(value) && value.every((one) => one === "text");
  if (path === "store") return value === false;
  return false;
}

function weightOf(path: string): LossWeight {
  if (path === "modalities" || path === "audio") return "meaning";
  return "hint";
}
