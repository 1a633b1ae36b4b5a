import type { CanonicalRequest, ForeignField, Tool, ToolChoice } from "../canonical_request.ts";
import { isRecord, type JsonRecord, words } from "../json.ts";
import { defined, field, missing, wrong } from "./fields.ts";

export interface Tools {
  tools: Tool[];
  toolChoice?: CanonicalRequest["toolChoice"];
  /** Vendor-side tools. */
  foreign: ForeignField[];
}

/** Reads `tools` and `tool_choice` (responses.md §3): flat definitions. */
export function readTools(request: JsonRecord): Tools {
  const foreign: ForeignField[] = [];
  const list = request.tools ?? [];
  if (!Array.isArray(list)) throw wrong("tools", "expected an array");
  const tools = list.flatMap((tool: unknown, index) => {
    const path = `tools[${index}]`;
    if (!isRecord(tool)) throw wrong(path, "expected an object");
    const type = field.text(tool, "type", `${path}.type`);
    if (type === undefined) throw missing(`${path}.type`);
    if (type === "function") return [readFunction(tool, path)];
    if (type === "custom") return [readCustom(tool, path)];
    // Work on the vendor's side: another vendor can't do it.
    foreign.push({ path, value: tool, weight: "meaning" });
    return [];
  });
  const toolChoice = readToolChoice(request.tool_choice, foreign);
  return { tools, ...defined({ toolChoice }), foreign };
}

function readFunction(tool: JsonRecord, path: string): Tool {
  const { parameters } = tool;
  if (parameters !== undefined && parameters !== null && !isRecord(parameters)) {
    throw wrong(`${path}.parameters`, "expected a JSON Schema object");
  }
  return {
    type: "function",
    name: nameOf(tool, path),
    ...defined({
      description: field.text(tool, "description", `${path}.description`),
      parameters: parameters ?? undefined,
      strict: field.boolean(tool, "strict", `${path}.strict`),
    }),
    path,
  };
}

function readCustom(tool: JsonRecord, path: string): Tool {
  return {
    type: "custom",
    name: nameOf(tool, path),
    ...defined({
      description: field.text(tool, "description", `${path}.description`),
      format: readToolFormat(tool.format, `${path}.format`),
    }),
    path,
  };
}

/** A grammar's fields are flat here; in the canonical form they have an object of their own. */
function readToolFormat(format: unknown, path: string): unknown {
  if (format === undefined || format === null) return undefined;
  if (!isRecord(format)) throw wrong(path, "expected an object");
  const { type, ...grammar } = format;
  return type === "grammar" ? { type, grammar } : format;
}

function nameOf(tool: JsonRecord, path: string): string {
  const name = field.text(tool, "name", `${path}.name`);
  if (name === undefined) throw missing(`${path}.name`);
  return name;
}

function readToolChoice(choice: unknown, foreign: ForeignField[]): ToolChoice | undefined {
  if (choice === undefined || choice === null) return undefined;
  if (choice === "none" || choice === "auto" || choice === "required") return { mode: choice };
  if (isRecord(choice) && typeof choice.type === "string") {
    if (choice.type === "allowed_tools") return readAllowed(choice, foreign);
    if (choice.type !== "function" && choice.type !== "custom") {
      foreign.push({ path: "tool_choice", value: choice, weight: "meaning" });
      return undefined;
    }
    const name = words(choice.name);
    if (name === undefined) throw missing("tool_choice.name");
    return { mode: "required", names: [name] };
  }
  throw wrong("tool_choice", "expected 'none', 'auto', 'required' or an object with a type");
}

function readAllowed(choice: JsonRecord, foreign: ForeignField[]): ToolChoice {
  if (choice.mode !== "auto" && choice.mode !== "required") {
    throw wrong("tool_choice.mode", "expected 'auto' or 'required'");
  }
  if (!Array.isArray(choice.tools)) throw wrong("tool_choice.tools", "expected an array");
  const names = choice.tools.flatMap((tool: unknown, index) => {
    const path = `tool_choice.tools[${index}]`;
    if (!isRecord(tool)) throw wrong(path, "expected an object");
    if (tool.type === "function" || tool.type === "custom") return [nameOf(tool, path)];
    foreign.push({ path, value: tool, weight: "meaning" });
    return [];
  });
  return { mode: choice.mode, names };
}
