import { invalidValue } from "../../../../shared/fault.ts";
import { objectAt, textAt } from "../../../kernel/fields.ts";
import { asList, asRecord, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { parsedRecord } from "../../../kernel/operation_request.ts";

/**
 * The tools `apply_patch`, `shell` and the older `local_shell`, as OpenAI's agents libraries offer
 * them: the caller runs them, and OpenAI's models know their input by heart (npm openai 7.59.0,
 * `ResponseApplyPatchToolCall`, `ResponseFunctionShellToolCall`, `LocalShellCall`). For other models
 * they are functions.
 */
export type CodingTool = keyof typeof tools;

const text = (description: string) => ({ type: "string", description });
const integer = (description: string) => ({ type: "integer", description });

/**
 * `field` of a call has the function's arguments. `others`: the call's other fields; `complete`:
 * returns the arguments with what the model need not write, but clients require. If it left them
 * incomplete, they do nothing.
 */
const tools = {
  apply_patch: {
    description: "Creates, updates or deletes one file. To update a file, write hunks: each " +
      "begins with a line `@@`, which may name the class or function that the hunk is in " +
      "(`@@ class Parser`). Then each line begins with a space (context, exactly as in the " +
      "file), `-` (removed) or `+` (added). Show three lines of context before and after a " +
      "change, and no line numbers or file headers. To create a file, begin each of its lines " +
      "with `+`.",
    parameters: {
      type: "object",
      properties: {
        type: { type: "string", enum: ["create_file", "update_file", "delete_file"] },
        path: text("Path of the file, relative to the working directory."),
        diff: text("create_file, update_file: the lines, in the form that is described above."),
      },
      required: ["type", "path"],
    },
    field: "operation",
    idPrefix: "apc_",
    others: {},
    complete: (fields: JsonRecord, written: string) => {
      // There is no file to update, so that the model learns of it.
      if (!fields.type || !fields.path) return { type: "update_file", path: "", diff: written };
      return fields.type === "delete_file" ? fields : completed(fields, { diff: "" });
    },
  },
  shell: {
    description: "Runs shell commands on the user's machine. Each command runs by itself, maybe " +
      "at the same time as the others; join steps that depend on each other with `&&`. A command " +
      "can't ask for input.",
    parameters: {
      type: "object",
      properties: {
        commands: { type: "array", items: { type: "string" } },
        timeout_ms: integer("Milliseconds after which the commands are stopped."),
        max_output_length: integer("Maximum number of characters of output to return."),
      },
      required: ["commands"],
    },
    field: "action",
    idPrefix: "sh_",
    others: { environment: { type: "local" } },
    complete: (fields: JsonRecord) =>
      completed(fields, { commands: [], timeout_ms: null, max_output_length: null }),
  },
  local_shell: {
    description: "Runs a program on the user's machine. To use a shell, run it: " +
      '`["bash", "-lc", "ls | wc -l"]`. The program can\'t ask for input.',
    parameters: {
      type: "object",
      properties: {
        command: {
          ...{ type: "array", items: { type: "string" } },
          description: "The program and its arguments.",
        },
        working_directory: text("Directory to run the program in."),
        timeout_ms: integer("Milliseconds after which the program is stopped."),
        env: {
          ...{ type: "object", additionalProperties: { type: "string" } },
          description: "Environment variables to set for the program.",
        },
      },
      required: ["command"],
    },
    field: "action",
    idPrefix: "lsh_",
    others: {},
    complete: (fields: JsonRecord) => ({
      ...completed(fields, { command: [], type: "exec", env: {} }),
      type: "exec",
    }),
  },
} as const;

/** Adds what is missing. The model's own fields come first: it gets its call back as it wrote it. */
function completed(fields: JsonRecord, missing: JsonRecord): JsonRecord {
  return { ...fields, ...missing, ...fields };
}

/**
 * Returns the fields as the tool's schema has them, which models of other vendors don't always
 * follow; clients fail to read the whole answer. A limit of a wrong type is left out. Any other such
 * field leaves none: without its text a file would be emptied, and without its directory or its
 * variables a command would be another.
 */
function valid(fields: JsonRecord, properties: JsonRecord): JsonRecord {
  const read: [string, unknown][] = [];
  for (const [name, value] of Object.entries(fields)) {
    const property = asRecord(Object.hasOwn(properties, name) ? properties[name] : undefined);
    const one = nearest(value, property.type);
    if (isOf(one, property)) read.push([name, one]);
    else if (value !== null && property.type !== "integer") return {};
  }
  return Object.fromEntries(read);
}

/** Returns a value of this type that says the same, if there is one. */
function nearest(value: unknown, type: unknown): unknown {
  if (type === "array" && isText(value)) return [value];
  if (type !== "object" || !isRecord(value)) return value;
  const texts = Object.entries(value).map(([name, one]) => {
    return [name, typeof one === "number" || typeof one === "boolean" ? String(one) : one];
  });
  return Object.fromEntries(texts);
}

function isOf(value: unknown, { type, enum: values }: JsonRecord): boolean {
  if (type === undefined) return true;
  const isListed = !Array.isArray(values) || values.includes(value);
  return isListed && hasType[String(type)]?.(value) === true;
}

const hasType: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: isText,
  integer: (value) => Number.isInteger(value),
  array: (value) => Array.isArray(value) && value.every(isText),
  object: (value) => isRecord(value) && Object.values(value).every(isText),
};

function isText(value: unknown): boolean {
  return typeof value === "string";
}

/**
 * Returns which tool this is, if the caller runs it. A shell may run in the vendor's container; the
 * AI SDK's names no environment if it is local.
 */
export function codingTool({ type, environment }: JsonRecord): CodingTool | undefined {
  if (type === "apply_patch" || type === "local_shell") return type;
  const isLocal = (environment ?? undefined) === undefined ||
    asRecord(environment).type === "local";
  return type === "shell" && isLocal ? type : undefined;
}

/** Returns the tool as a function without a name. */
export function codingFunction(name: CodingTool, tool: JsonRecord): JsonRecord {
  const { description, parameters } = tools[name];
  const skills = asList(asRecord(tool.environment).skills).filter(isRecord).map((skill) =>
    `\n- ${skill.name}, in ${skill.path}: ${skill.description}`
  );
  const more = skills.length > 0
    ? `\nSkills, each a directory to read first:${skills.join("")}`
    : "";
  return { description: description + more, parameters };
}

export function isCodingCall(item: JsonRecord): boolean {
  return calledTool(item) !== undefined;
}

const names = Object.keys(tools) as CodingTool[];

function calledTool({ type }: JsonRecord): CodingTool | undefined {
  return names.find((name) => type === `${name}_call`);
}

/** Returns the tool that an item calls, and the arguments, if the caller ran it. */
export function readCodingCall(
  item: JsonRecord,
  path: string,
): { tool: CodingTool; arguments: string } | undefined {
  const tool = calledTool(item);
  if (!tool || asRecord(item.environment).type === "container_reference") return undefined;
  const { field } = tools[tool];
  const fields = Object.entries(objectAt(item, field, path) ?? {})
    .filter(([, value]) => value !== null);
  return { tool, arguments: JSON.stringify(Object.fromEntries(fields)) };
}

/**
 * Returns the texts of a call's result, one for each command of a shell. Throws `invalid_value`,
 * naming the field, where the result has another form: the model would miss what it contains.
 */
export function codingResult(item: JsonRecord, path: string): string[] {
  const { type, output, status } = item;
  if (type === "shell_call_output") {
    if (!Array.isArray(output)) throw invalidValue(`${path}.output`, "expected an array");
    return output.map((command: unknown, index) => {
      const at = `${path}.output[${index}]`;
      if (!isRecord(command)) throw invalidValue(at, "expected an object");
      const stdout = textAt(command, "stdout", at);
      const stderr = textAt(command, "stderr", at);
      const { type, exit_code } = asRecord(command.outcome);
      const end = type === "timeout" ? "Timed out." : `Exit code ${exit_code ?? "unknown"}.`;
      const errors = stderr ? `stderr:\n${stderr}` : "";
      return [stdout, errors, end].filter(Boolean).join("\n");
    });
  }
  const text = textAt(item, "output", path) ?? "";
  if (type === "local_shell_call_output") return [text];
  return [text || (status === "failed" ? "The patch failed." : "Done.")];
}

/** Returns the item of a call that begins, still without its arguments. */
export function newCodingCall(
  tool: CodingTool,
  call_id: string,
  newId: (prefix: string) => string,
): JsonRecord {
  const { idPrefix, others } = tools[tool];
  const type = `${tool}_call`;
  return { id: newId(idPrefix), type, status: "in_progress", call_id, ...others };
}

/**
 * Writes the whole arguments of a call into its item: an object, also where the output limit cut
 * them off, since clients fail to read any other value.
 */
export function endCodingCall(item: Record<string, unknown>, argumentsText: string): void {
  const { field, complete, parameters } = tools[calledTool(item)!];
  const fields = valid(parsedRecord(argumentsText) ?? {}, parameters.properties);
  item[field] = complete(fields, argumentsText);
}
