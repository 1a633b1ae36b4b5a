import type { ForeignField, Tool, ToolChoice } from "../canonical_request.ts";
import { type Fields, missing, wrong } from "./reader.ts";
import { jsonSchemaOf } from "./schema_from_subset.ts";

/** `tools[]`: the functions; what the vendor runs itself has no neutral form. */
export function readTools(request: Fields, foreign: ForeignField[]): Tool[] {
  return request.objects("tools").flatMap((tool) => {
    for (const { path, value } of tool.others(functionsOnly)) {
      foreign.push({ path, value, weight: "meaning" });
    }
    return tool.objects("functionDeclarations").map(readFunction);
  });
}

const functionsOnly: ReadonlySet<string> = new Set(["functionDeclarations"]);

function readFunction(declaration: Fields): Tool {
  const name = declaration.string("name");
  if (name === undefined || name === "") throw missing(declaration.at("name"));
  const description = declaration.string("description");
  const subset = declaration.object("parameters")?.record;
  const jsonSchema = declaration.object("parametersJsonSchema")?.record;
  const parameters = jsonSchema ?? (subset && jsonSchemaOf(subset));
  return {
    type: "function",
    name,
    ...(description ? { description } : {}),
    ...(parameters ? { parameters } : {}),
    path: declaration.path,
  };
}

/** `toolConfig.functionCallingConfig` (translation.md §5.2). */
export function readToolChoice(
  request: Fields,
): { choice: ToolChoice | undefined; path: string } {
  const config = request.object("toolConfig");
  const calling = config?.object("functionCallingConfig");
  return { choice: calling && choiceOf(calling), path: calling?.path ?? "" };
}

function choiceOf(calling: Fields): ToolChoice | undefined {
  const mode = calling.string("mode") ?? "MODE_UNSPECIFIED";
  const given = calling.strings("allowedFunctionNames") ?? [];
  const names = given.length > 0 ? { names: given } : {};
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
      throw wrong(calling.at("mode"), "AUTO, ANY, NONE or VALIDATED");
  }
}
