import type {
  CanonicalRequest,
  Tool,
  ToolChoice,
  UnsupportedField,
  WebSearch,
} from "../../../kernel/canonical_request.ts";
import { invalidValue, missingField } from "../../../../shared/fault.ts";
import { booleanAt, requiredText, textAt } from "../../../kernel/fields.ts";
import { defined } from "../../../../base/defined.ts";
import { asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { readCacheMark } from "../../../kernel/read_cache_mark.ts";
import type { FlatNames } from "../../../kernel/namespaces.ts";
import { isSearchType, readSearchTool } from "../../../kernel/web_search.ts";
import { codingFunction, codingTool } from "./coding_tools.ts";
import { isClientSearch, type OfferedTool } from "./offered_tools.ts";

export interface Tools {
  tools: Tool[];
  toolChoice?: CanonicalRequest["toolChoice"];
  webSearch?: WebSearch;
  /** Vendor-side tools. */
  unsupported: UnsupportedField[];
}

/**
 * Reads the tools that a request offers and its `tool_choice`. Definitions are flat; a tool in a
 * namespace gets one name.
 */
export function readTools(
  offered: readonly OfferedTool[],
  choice: unknown,
  names: FlatNames,
): Tools {
  const unsupported: UnsupportedField[] = [];
  let search: WebSearch | undefined;
  let isCacheOnly = false;
  const tools = offered.flatMap(({ tool, type, path, namespace }) => {
    if (type === "function") return [readFunction(tool, path, namespace, names)];
    if (type === "custom") return [readCustom(tool, path, namespace, names)];
    if (isSearchType(type) && (!search || isAgain(path))) {
      search = readSearchTool(tool, path);
      isCacheOnly = tool.external_web_access === false;
      return [];
    }
    if (type === "tool_search" && isClientSearch(tool)) {
      return [readFunction({ ...tool, name: names.ofType(type) }, path, undefined, names)];
    }
    const coding = codingTool(tool);
    if (coding) {
      const named = { ...codingFunction(coding, tool), name: names.ofType(coding) };
      return [{ ...readFunction(named, path, undefined, names), ...readCacheMark(tool, path) }];
    }
    // Another vendor can't run it.
    unsupported.push({ path, value: tool, weight: weightOf(tool) });
    return [];
  });
  if (search && isCacheOnly) {
    const path = `${search.path}.external_web_access`;
    unsupported.push({ path, value: false, weight: "hint" });
  }
  const { toolChoice, webSearch } = readToolChoice(choice, {
    offered,
    search,
    unsupported,
    names,
  });
  return { tools: lastOfEach(tools), ...defined({ toolChoice, webSearch }), unsupported };
}

/** Leaving out the vendor's tool search loses no tool: the model gets all of them here. */
function weightOf({ type }: JsonRecord): UnsupportedField["weight"] {
  return type === "tool_search" ? "hint" : "meaning";
}

/**
 * If an item offers a tool again, that definition counts; vendors refuse a name that occurs twice.
 */
function lastOfEach(tools: readonly Tool[]): Tool[] {
  const again = new Map(
    tools.filter(({ path }) => isAgain(path)).map((tool) => [tool.name, tool]),
  );
  return again.size === 0
    ? [...tools]
    : tools.filter((tool) => (again.get(tool.name) ?? tool) === tool);
}

function isAgain(path: string): boolean {
  return path.startsWith("input[");
}

function readFunction(
  tool: JsonRecord,
  path: string,
  namespace: string | undefined,
  names: FlatNames,
): Tool {
  const { parameters } = tool;
  if (parameters !== undefined && parameters !== null && !isRecord(parameters)) {
    throw invalidValue(`${path}.parameters`, "expected a JSON Schema object");
  }
  return {
    type: "function",
    name: names.of(namespace, requiredText(tool, "name", path)),
    ...defined({
      description: textAt(tool, "description", path),
      parameters: parameters ?? undefined,
      strict: booleanAt(tool, "strict", path),
    }),
    ...readCacheMark(tool, path),
    path,
  };
}

function readCustom(
  tool: JsonRecord,
  path: string,
  namespace: string | undefined,
  names: FlatNames,
): Tool {
  return {
    type: "custom",
    name: names.of(namespace, requiredText(tool, "name", path)),
    ...defined({
      description: textAt(tool, "description", path),
      format: readToolFormat(tool.format, `${path}.format`),
    }),
    ...readCacheMark(tool, path),
    path,
  };
}

/**
 * Reads a custom tool's format. A grammar's fields are flat here; the canonical form nests them.
 */
function readToolFormat(format: unknown, path: string): unknown {
  if (format === undefined || format === null) return undefined;
  if (!isRecord(format)) throw invalidValue(path, "expected an object");
  const { type, ...grammar } = format;
  return type === "grammar" ? { type, grammar } : format;
}

interface Choice {
  toolChoice?: ToolChoice;
  /** The web search, unless the tool choice excludes it. */
  webSearch?: WebSearch | undefined;
}

/** The context in which a tool choice is read. */
interface ToolChoiceContext {
  offered: readonly OfferedTool[];
  search: WebSearch | undefined;
  unsupported: UnsupportedField[];
  names: FlatNames;
}

function readToolChoice(choice: unknown, context: ToolChoiceContext): Choice {
  const { search, unsupported, names } = context;
  const offered = { webSearch: search };
  if (choice === undefined || choice === null) return offered;
  if (choice === "none" || choice === "auto" || choice === "required") {
    return { ...offered, toolChoice: { mode: choice } };
  }
  if (isRecord(choice) && typeof choice.type === "string") {
    if (choice.type === "allowed_tools") return readAllowed(choice, context);
    if (search && isSearchType(choice.type)) return { webSearch: demand(search) };
    const typed = nameOfType(choice, context);
    if (typed !== undefined) {
      return { ...offered, toolChoice: { mode: "required", names: [typed] } };
    }
    if (choice.type !== "function" && choice.type !== "custom") {
      unsupported.push({ path: "tool_choice", value: choice, weight: "meaning" });
      return offered;
    }
    const ownName = asString(choice.name);
    if (ownName === undefined) throw missingField("tool_choice.name");
    const name = names.of(textAt(choice, "namespace", "tool_choice"), ownName);
    return { ...offered, toolChoice: { mode: "required", names: [name] } };
  }
  throw invalidValue("tool_choice", "expected 'none', 'auto', 'required' or an object with a type");
}

/**
 * Returns the name of the function that stands for a tool which a choice names by its type, if it
 * is offered.
 */
function nameOfType(
  { type }: JsonRecord,
  { offered, names }: ToolChoiceContext,
): string | undefined {
  const isFunction = offered.some(({ type: one, tool }) =>
    one === type && (codingTool(tool) !== undefined || isClientSearch(tool))
  );
  return isFunction ? names.ofType(String(type)) : undefined;
}

function demand(search: WebSearch): WebSearch {
  return { ...search, demanded: true, paths: { ...search.paths, demanded: "tool_choice" } };
}

function readAllowed(choice: JsonRecord, context: ToolChoiceContext): Choice {
  const { offered, search, unsupported, names: flat } = context;
  if (choice.mode !== "auto" && choice.mode !== "required") {
    throw invalidValue("tool_choice.mode", "expected 'auto' or 'required'");
  }
  if (!Array.isArray(choice.tools)) throw invalidValue("tool_choice.tools", "expected an array");
  let isAllowed = false;
  const names = choice.tools.flatMap((tool: unknown, index) => {
    const path = `tool_choice.tools[${index}]`;
    if (!isRecord(tool)) throw invalidValue(path, "expected an object");
    if (tool.type === "function" || tool.type === "custom") {
      return [flat.of(textAt(tool, "namespace", path), requiredText(tool, "name", path))];
    }
    if (tool.type === "namespace") {
      const name = requiredText(tool, "name", path);
      const all = offered.filter(({ namespace }) => namespace === name);
      return all.map((one) => flat.of(name, requiredText(one.tool, "name", one.path)));
    }
    const typed = nameOfType(tool, context);
    if (typed !== undefined) return [typed];
    if (search && isSearchType(tool.type)) isAllowed = true;
    else unsupported.push({ path, value: tool, weight: weightOf(tool) });
    return [];
  });
  const webSearch = !isAllowed || !search
    ? undefined
    : names.length === 0 && choice.mode === "required"
    ? demand(search)
    : search;
  return { toolChoice: { mode: choice.mode, names }, webSearch };
}
