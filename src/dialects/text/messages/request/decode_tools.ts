import type { Tool, UnsupportedField, WebSearch } from "../../../kernel/canonical_request.ts";
import { invalidValue } from "../../../../shared/fault.ts";
import { defined, objectAt, stringAt, textAt } from "../../../kernel/fields.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { readCacheMark } from "../../../kernel/read_cache_mark.ts";
import { withLocalRefs } from "../../../kernel/schema_refs.ts";
import { readSearchTool } from "../../../kernel/web_search.ts";

/** The web search's type, of any version. */
const searchType = /^web_search_\d{8}$/;

export function isSearchTool(tool: JsonRecord): boolean {
  return typeof tool.type === "string" && searchType.test(tool.type);
}

/** Claude Code has it in its list for its own vendor's sake: no model may call it. */
export function isPlaceholder(tool: JsonRecord): boolean {
  return tool.name === "DeferredToolPlaceholder" && tool.defer_loading === true;
}

/** The caller's tools. Tools that the vendor runs go to `unsupported`, except its web search. */
export function readTools(
  value: unknown,
  unsupported: UnsupportedField[],
): { tools: Tool[]; webSearch?: WebSearch } {
  if (value === undefined || value === null) return { tools: [] };
  if (!Array.isArray(value)) throw invalidValue("tools", "expected an array");
  let webSearch: WebSearch | undefined;
  const tools = value.flatMap((tool: unknown, index) => {
    const path = `tools[${index}]`;
    if (!isRecord(tool)) throw invalidValue(path, "expected an object");
    if (isSearchTool(tool) && !webSearch) {
      webSearch = readSearchTool(tool, path);
      return [];
    }
    if (tool.type !== undefined && tool.type !== null && tool.type !== "custom") {
      unsupported.push({ path, value: tool, weight: "meaning" });
      return [];
    }
    if (isPlaceholder(tool)) {
      unsupported.push({ path, value: tool, weight: "hint" });
      return [];
    }
    return [readTool(tool, path)];
  });
  return webSearch ? { tools, webSearch } : { tools };
}

function readTool(tool: JsonRecord, path: string): Tool {
  const schema = objectAt(tool, "input_schema", `${path}.input_schema`);
  return {
    type: "function",
    name: stringAt(tool, "name", `${path}.name`),
    ...defined({
      description: textAt(tool, "description", `${path}.description`),
      parameters: schema && withLocalRefs(schema),
      strict: typeof tool.strict === "boolean" ? tool.strict : undefined,
    }),
    ...readCacheMark(tool, path),
    path,
  };
}
