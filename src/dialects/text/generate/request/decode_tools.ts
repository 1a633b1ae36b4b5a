import type {
  Tool,
  ToolChoice,
  UnsupportedField,
  WebSearch,
} from "../../../kernel/canonical_request.ts";
import { maxEntries } from "../../../../../contracts/kernel/common.ts";
import { invalidValue, missingField } from "../../../../shared/fault.ts";
import { isRecord } from "../../../kernel/json.ts";
import { readCacheMark } from "../../../kernel/read_cache_mark.ts";
import { type Fields } from "./fields.ts";
import { jsonSchemaOf } from "./schema_from_subset.ts";

/**
 * Reads `tools[]`: the functions, and the vendor's web search. Other vendor-side tools have no
 * canonical form.
 */
export function readTools(
  request: Fields,
  unsupported: UnsupportedField[],
): { tools: Tool[]; webSearch?: WebSearch } {
  let webSearch: WebSearch | undefined;
  let declared = 0;
  const tools = request.objects("tools").flatMap((tool) => {
    for (const { name, path, value } of tool.others({ functionDeclarations: true })) {
      const isSearch = name === "googleSearch" || name === "googleSearchRetrieval";
      if (isSearch && !webSearch) webSearch = readSearch(tool.object(name)!, unsupported);
      else unsupported.push({ path, value, weight: "meaning" });
    }
    const declarations = tool.objects("functionDeclarations");
    declared += declarations.length;
    if (declared > maxEntries.tools) {
      const path = tool.at("functionDeclarations");
      throw invalidValue(path, `a request takes at most ${maxEntries.tools} tools`);
    }
    return declarations.map(readFunction);
  });
  return webSearch ? { tools, webSearch } : { tools };
}

function readSearch(search: Fields, unsupported: UnsupportedField[]): WebSearch {
  const blockedDomains = search.strings("excludeDomains");
  for (const { name, path, value } of search.others({ excludeDomains: true })) {
    // Web search is the default anyway; a time range would narrow the results.
    if (name === "searchTypes" && isRecord(value) && Object.keys(value).join() === "webSearch") {
      continue;
    }
    unsupported.push({ path, value, weight: name === "timeRangeFilter" ? "meaning" : "hint" });
  }
  return {
    ...(blockedDomains?.length ? { blockedDomains } : {}),
    demanded: false,
    path: search.path,
    paths: { blockedDomains: search.at("excludeDomains") },
  };
}

function readFunction(declaration: Fields): Tool {
  const name = declaration.string("name");
  if (name === undefined || name === "") throw missingField(declaration.at("name"));
  const description = declaration.string("description");
  const subset = declaration.object("parameters")?.record;
  const jsonSchema = declaration.object("parametersJsonSchema")?.record;
  const parameters = jsonSchema ?? (subset && jsonSchemaOf(subset));
  return {
    type: "function",
    name,
    ...(description ? { description } : {}),
    ...(parameters ? { parameters } : {}),
    ...readCacheMark(declaration.record, declaration.path),
    path: declaration.path,
  };
}

/** Reads `toolConfig.functionCallingConfig`. */
export function readToolChoice(request: Fields): { choice: ToolChoice | undefined; path: string } {
  const config = request.object("toolConfig");
  const calling = config?.object("functionCallingConfig");
  return { choice: calling && choiceOf(calling), path: calling?.path ?? "" };
}

function choiceOf(calling: Fields): ToolChoice | undefined {
  const mode = calling.string("mode") ?? "MODE_UNSPECIFIED";
  const allowed = calling.strings("allowedFunctionNames") ?? [];
  const names = allowed.length > 0 ? { names: allowed } : {};
  switch (mode.toUpperCase()) {
    case "MODE_UNSPECIFIED":
      return undefined;
    case "AUTO":
    case "VALIDATED":
      return { mode: "auto", ...names };
    case "ANY":
      return { mode: "required", ...names };
    case "NONE":
      return { mode: "none" };
    default:
      throw invalidValue(calling.at("mode"), "expected AUTO, ANY, NONE or VALIDATED");
  }
}
