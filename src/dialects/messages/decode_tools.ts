import type { ForeignField, Tool } from "../canonical_request.ts";
import { isRecord, type JsonRecord } from "../json.ts";
import { cacheAt, defined, objectAt, stringAt, wordsAt, wrong } from "./shape.ts";

/** The caller's tools (messages.md §4). Those that the vendor runs itself go to `foreign`. */
export function readTools(value: unknown, foreign: ForeignField[]): Tool[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrong("tools", "expected an array");
  return value.flatMap((tool: unknown, index) => {
    const path = `tools[${index}]`;
    if (!isRecord(tool)) throw wrong(path, "expected an object");
    if (tool.type !== undefined && tool.type !== null && tool.type !== "custom") {
      foreign.push({ path, value: tool, weight: "meaning" });
      return [];
    }
    return [readTool(tool, path)];
  });
}

function readTool(tool: JsonRecord, path: string): Tool {
  return {
    type: "function",
    name: stringAt(tool, "name", `${path}.name`),
    ...defined({
      description: wordsAt(tool, "description", `${path}.description`),
      parameters: objectAt(tool, "input_schema", `${path}.input_schema`),
      strict: typeof tool.strict === "boolean" ? tool.strict : undefined,
    }),
    ...cacheAt(tool),
    path,
  };
}
