import type {
  CanonicalRequest,
  Tool,
  ToolChoice,
  UnsupportedField,
  WebSearch,
} from "../../../kernel/canonical_request.ts";
import { booleanAt, defined, invalidValue, missingField, textAt } from "../../../kernel/fields.ts";
import { asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { readCacheMark } from "../../../kernel/read_cache_mark.ts";
import { isSearchType, readSearchTool } from "../../../kernel/web_search.ts";

export interface Tools {
  tools: Tool[];
  toolChoice?: CanonicalRequest["toolChoice"];
  webSearch?: WebSearch;
  /** Vendor-side tools. */
  unsupported: UnsupportedField[];
}

/** Reads `tools` and `tool_choice`: flat definitions. */
export function readTools(request: JsonRecord): Tools {
  const unsupported: UnsupportedField[] = [];
  let search: WebSearch | undefined;
  const list = request.tools ?? [];
  if (!Array.isArray(list)) throw invalidValue("tools", "expected an array");
  const tools = list.flatMap((tool: unknown, index) => {
    const path = `tools[${index}]`;
    if (!isRecord(tool)) throw invalidValue(path, "expected an object");
    const type = textAt(tool, "type", `${path}.type`);
    if (type === undefined) throw missingField(`${path}.type`);
    if (type === "function") return [readFunction(tool, path)];
    if (type === "custom") return [readCustom(tool, path)];
    if (isSearchType(type) && !search) {
      search = readSearchTool(tool, path);
      if (tool.external_web_access === false) {
        unsupported.push({ path: `${path}.external_web_access`, value: false, weight: "hint" });
      }
      return [];
    }
    // Another vendor can't run it.
    unsupported.push({ path, value: tool, weight: "meaning" });
    return [];
  });
  const { toolChoice, webSearch } = readToolChoice(request.tool_choice, search, unsupported);
  return { tools, ...defined({ toolChoice, webSearch }), unsupported };
}

function readFunction(tool: JsonRecord, path: string): Tool {
  const { parameters } = tool;
  if (parameters !== undefined && parameters !== null && !isRecord(parameters)) {
    throw invalidValue(`${path}.parameters`, "expected a JSON Schema object");
  }
  return {
    type: "function",
    name: nameOf(tool, path),
    ...defined({
      description: textAt(tool, "description", `${path}.description`),
      parameters: parameters ?? undefined,
      strict: booleanAt(tool, "strict", `${path}.strict`),
    }),
    ...readCacheMark(tool, path),
    path,
  };
}

function readCustom(tool: JsonRecord, path: string): Tool {
  return {
    type: "custom",
    name: nameOf(tool, path),
    ...defined({
      description: textAt(tool, "description", `${path}.description`),
      format: readToolFormat(tool.format, `${path}.format`),
    }),
    ...readCacheMark(tool, path),
    path,
  };
}

/** A grammar's fields are flat here; the canonical form nests them. */
function readToolFormat(format: unknown, path: string): unknown {
  if (format === undefined || format === null) return undefined;
  if (!isRecord(format)) throw invalidValue(path, "expected an object");
  const { type, ...grammar } = format;
  return type === "grammar" ? { type, grammar } : format;
}

function nameOf(tool: JsonRecord, path: string): string {
  const name = textAt(tool, "name", `${path}.name`);
  if (name === undefined) throw missingField(`${path}.name`);
  return name;
}

interface Choice {
  toolChoice?: ToolChoice;
  /** The web search, unless the tool choice excludes it. */
  webSearch?: WebSearch | undefined;
}

function readToolChoice(
  choice: unknown,
  search: WebSearch | undefined,
  unsupported: UnsupportedField[],
): Choice {
  const offered = { webSearch: search };
  if (choice === undefined || choice === null) return offered;
  if (choice === "none" || choice === "auto" || choice === "required") {
    return { ...offered, toolChoice: { mode: choice } };
  }
  if (isRecord(choice) && typeof choice.type === "string") {
    if (choice.type === "allowed_tools") return readAllowed(choice, search, unsupported);
    if (search && isSearchType(choice.type)) return { webSearch: demand(search) };
    if (choice.type !== "function" && choice.type !== "custom") {
      unsupported.push({ path: "tool_choice", value: choice, weight: "meaning" });
      return offered;
    }
    const name = asString(choice.name);
    if (name === undefined) throw missingField("tool_choice.name");
    return { ...offered, toolChoice: { mode: "required", names: [name] } };
  }
  throw invalidValue("tool_choice", "expected 'none', 'auto', 'required' or an object with a type");
}

function demand(search: WebSearch): WebSearch {
  return { ...search, demanded: true, paths: { ...search.paths, demanded: "tool_choice" } };
}

function readAllowed(
  choice: JsonRecord,
  search: WebSearch | undefined,
  unsupported: UnsupportedField[],
): Choice {
  if (choice.mode !== "auto" && choice.mode !== "required") {
    throw invalidValue("tool_choice.mode", "expected 'auto' or 'required'");
  }
  if (!Array.isArray(choice.tools)) throw invalidValue("tool_choice.tools", "expected an array");
  let isAllowed = false;
  const names = choice.tools.flatMap((tool: unknown, index) => {
    const path = `tool_choice.tools[${index}]`;
    if (!isRecord(tool)) throw invalidValue(path, "expected an object");
    if (tool.type === "function" || tool.type === "custom") return [nameOf(tool, path)];
    if (search && isSearchType(tool.type)) isAllowed = true;
    else unsupported.push({ path, value: tool, weight: "meaning" });
    return [];
  });
  const webSearch = !isAllowed || !search
    ? undefined
    : names.length === 0 && choice.mode === "required"
    ? demand(search)
    : search;
  return { toolChoice: { mode: choice.mode, names }, webSearch };
}
