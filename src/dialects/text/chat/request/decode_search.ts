import type { WebSearch } from "../../../kernel/canonical_request.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { isSearchType, readSearchTool } from "../../../kernel/web_search.ts";

/**
 * Returns the web search that a chat request asks for: `web_search_options`, or OpenRouter's search
 * tool, the first if there are several.
 */
export function readSearch(request: JsonRecord): WebSearch | undefined {
  const search = searchTool(request) ?? searchOptions(request);
  const { tool_choice: choice } = request;
  if (!search || !isRecord(choice) || !isSearchType(choice.type)) return search;
  return { ...search, demanded: true, paths: { ...search.paths, demanded: "tool_choice" } };
}

/** Index of the search tool; -1 without one. */
export function searchToolIndex({ tools }: JsonRecord): number {
  if (!Array.isArray(tools)) return -1;
  return tools.findIndex((tool: unknown) => isRecord(tool) && isSearchType(tool.type));
}

function searchTool(request: JsonRecord): WebSearch | undefined {
  const index = searchToolIndex(request);
  const tool: unknown = Array.isArray(request.tools) ? request.tools[index] : undefined;
  if (!isRecord(tool)) return undefined;
  const path = `tools[${index}]`;
  return isRecord(tool.parameters)
    ? { ...readSearchTool(tool.parameters, `${path}.parameters`), path }
    : readSearchTool(tool, path);
}

function searchOptions({ web_search_options: options }: JsonRecord): WebSearch | undefined {
  return isRecord(options) ? readSearchTool(options, "web_search_options") : undefined;
}
