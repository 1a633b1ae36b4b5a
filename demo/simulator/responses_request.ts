/** Reads and checks a responses request. */
import { asArray, asNumber, asObject, asText, type JsonObject, objectsIn } from "./json.ts";
import { type Medium, mediumFromBase64, mediumFromUrl } from "./media.ts";
import { type OfferedTool, type Prompt } from "./model.ts";
import {
  invalid,
  require,
  requireAnswerSchema,
  requireFunction,
  requireMetadata,
} from "./openai_problems.ts";
import { Problem } from "./problem.ts";
import {
  AGENT_PARTS,
  BODY,
  COMPACT_BODY,
  COUNT_BODY,
  FUNCTION_TOOL,
  ID_PREFIXES,
  INPUT_PARTS,
  ITEMS,
  OUTPUT_PARTS,
  PARTS,
  SEARCH,
} from "./responses_rules.ts";
import { COMPACTED } from "./responses_output.ts";
import { isSealOf, isSealOfKind } from "./seals.ts";
import { type OfferedSearch } from "./web_search.ts";

/** Checks all but the items. Throws a 400 Problem. */
export function checkResponsesRequest(body: JsonObject, isStrict: boolean): void {
  require(body, BODY, "", isStrict);
  if (isStrict) requireMetadata(body);
  if (body.input === undefined && !body.previous_response_id && !body.prompt) {
    throw invalid("input", "missing_required_parameter", "Missing required parameter: 'input'.");
  }
  objectsIn(body.tools).forEach((tool, index) => {
    const path = `tools[${index}]`;
    if (isStrict && asText(tool.type).startsWith("web_search")) require(tool, SEARCH, path, true);
    if (tool.type !== "function") return;
    const definition = require(tool, FUNCTION_TOOL, path, isStrict);
    if (isStrict) requireFunction(definition, path);
  });
  const format = asObject(asObject(body.text)?.format);
  const schema = asObject(format?.schema);
  if (format?.type === "json_schema" && (!schema || typeof format.name !== "string")) {
    throw invalid(
      "text.format.name",
      "missing_required_parameter",
      "Missing required parameter: 'text.format.name'.",
    );
  }
  if (isStrict && schema) requireAnswerSchema(schema, format ?? {}, "text.format.schema");
  if (isStrict && format?.type === "json_object" && !/json/i.test(JSON.stringify(body.input))) {
    throw invalid(
      "input",
      "invalid_value",
      "Response input messages must contain the word 'json' in some form to use 'text.format' of " +
        "type 'json_object'.",
    );
  }
}

/** Throws a 422 Problem for OpenAI's own tools, items and fields, as xAI does. */
export function refuseExtensions(body: JsonObject, known: readonly string[]): void {
  for (const tool of objectsIn(body.tools)) {
    const type = asText(tool.type);
    if (!known.includes(type)) {
      const variants = known.map((one) => `\`${one}\``).join(", ");
      throw undecodable(`tools: unknown variant \`${type}\`, expected one of ${variants}`);
    }
    if ("external_web_access" in tool) {
      throw new Problem(400, "Argument not supported: external_web_access");
    }
  }
  for (const item of objectsIn(body.input)) {
    if (
      extensions.test(asText(item.type)) || (item.type === "reasoning" && item.content === null)
    ) {
      throw undecodable("data did not match any variant of untagged enum ModelInput");
    }
  }
}

const extensions =
  /^(custom_tool|apply_patch|local_shell|tool_search)_|^(additional_tools|agent_message)$/;

function undecodable(message: string): Problem {
  return new Problem(422, `Failed to deserialize the JSON body into the target type: ${message}`);
}

/** Throws a 400 Problem for a field that a request to count tokens can't have. */
export function requireCounted(body: JsonObject): void {
  require(body, COUNT_BODY, "", true);
}

/** Throws a 400 Problem for a field that a request to compact can't have. */
export function requireCompacted(body: JsonObject): void {
  require(body, COMPACT_BODY, "", true);
}

/** Returns the request's own items, checked; a string is one user message. */
export function itemsOf(body: JsonObject, isStrict: boolean): JsonObject[] {
  if (typeof body.input === "string") {
    return [{ type: "message", role: "user", content: body.input }];
  }
  return asArray(body.input).map((item, index) => checkItem(item, `input[${index}]`, isStrict));
}

function checkItem(value: unknown, path: string, isStrict: boolean): JsonObject {
  const item = asObject(value);
  const type = asText(item?.type) || (item?.role === undefined ? "item_reference" : "message");
  const rules = ITEMS[type];
  if (rules === undefined) {
    if (type === "compaction" && isStrict && item?.encrypted_content !== COMPACTED) {
      const problem = "The encrypted content of the compaction item could not be verified.";
      throw invalid(path, "invalid_encrypted_content", problem);
    }
    if (/_(call|call_output)$|^mcp_/.test(type)) return item ?? {};
    // Servers of open models don't compact conversations.
    if (isStrict && /^compaction/.test(type)) return item ?? {};
    throw invalid(`${path}.type`, "invalid_value", `Invalid value: '${type}'.`);
  }
  const checked = require(value, rules, path, isStrict);
  const prefix = ID_PREFIXES[type];
  const id = asText(checked.id);
  if (isStrict && prefix && id !== "" && !id.startsWith(prefix)) {
    throw invalid(
      `${path}.id`,
      "invalid_value",
      `Invalid '${path}.id': '${id}'. Expected an ID that begins with '${prefix}'.`,
    );
  }
  const sealed = checked.encrypted_content;
  // OpenAI accepts encrypted reasoning without its id; with an id, the two have to belong together.
  const isIssued = typeof sealed !== "string" ||
    (id === "" ? isSealOfKind(sealed, "reasoning") : isSealOf(sealed, "reasoning", id));
  if (isStrict && !isIssued) {
    throw invalid(
      path,
      "invalid_encrypted_content",
      `The encrypted content for item ${id} could not be verified.`,
    );
  }
  const parts = [...asArray(checked.content), ...asArray(checked.output)];
  if (type !== "reasoning") {
    const allowed = type === "agent_message"
      ? AGENT_PARTS
      : checked.role === "assistant"
      ? OUTPUT_PARTS
      : INPUT_PARTS;
    parts.forEach((part, index) => checkPart(part, allowed, `${path}.content[${index}]`, isStrict));
  }
  return { ...checked, type };
}

function checkPart(value: unknown, allowed: string[], path: string, isStrict: boolean): void {
  const type = asText(asObject(value)?.type);
  if (isStrict ? !allowed.includes(type) : PARTS[type] === undefined) {
    const names = allowed.map((name) => `'${name}'`).join(" and ");
    throw invalid(
      path,
      "invalid_value",
      `Invalid value: '${type}'. Supported values are: ${names}.`,
    );
  }
  require(value, PARTS[type] ?? {}, path, isStrict);
  mediaOf([value], path);
}

/**
 * Checks that calls and outputs of the whole chain belong together, and reasoning with what came
 * after it: `reasoningOf` gives the id of the reasoning that an item followed when it was made.
 * Throws a 400 Problem.
 */
export function checkChain(
  items: readonly JsonObject[],
  isStrict: boolean,
  reasoningOf: (id: string) => string | undefined,
): void {
  const ids = new Set<unknown>();
  const calls = new Set<string>();
  const outputs = new Set<string>();
  items.forEach((item, index) => {
    const id = asText(item.call_id);
    if (item.type === "function_call" || item.type === "custom_tool_call") calls.add(id);
    if (item.type === "function_call_output" || item.type === "custom_tool_call_output") {
      if (!calls.has(id)) {
        throw new Problem(400, `No tool call found for function call output with call_id ${id}.`, {
          param: "input",
        });
      }
      outputs.add(id);
    }
    ids.add(item.id);
    const reasoning = isStrict ? reasoningOf(asText(item.id)) : undefined;
    if (reasoning !== undefined && !ids.has(reasoning)) {
      throw new Problem(
        400,
        `Item '${item.id}' of type '${item.type}' was provided without its required 'reasoning' ` +
          `item: '${reasoning}'.`,
        { param: "input" },
      );
    }
    const next = asText(items[index + 1]?.role) || asText(items[index + 1]?.type);
    if (isStrict && item.type === "reasoning" && !/assistant|_call$|reasoning/.test(next)) {
      throw new Problem(
        400,
        `Item '${item.id}' of type 'reasoning' was provided without its required following item.`,
        { param: "input" },
      );
    }
  });
  const open = [...calls].find((id) => !outputs.has(id));
  if (open !== undefined) {
    throw new Problem(400, `No tool output found for function call ${open}.`, { param: "input" });
  }
}

/** The prompt of a checked request and its whole chain of items. */
export function readResponsesPrompt(
  body: JsonObject,
  items: readonly JsonObject[],
  names: string[],
): Prompt {
  const users = items.filter((item) => item.role === "user");
  const sinceUser = items.slice(items.findLastIndex((item) => item.role === "user") + 1);
  const isCall = (item: JsonObject) => /^(function|custom_tool)_call$/.test(asText(item.type));
  const toolNames = new Map(items.filter(isCall).map((call) => [call.call_id, asText(call.name)]));
  const roundsIn = (list: readonly JsonObject[]) =>
    list.filter((item, index) => isCall(item) && !isCall(list[index - 1] ?? {})).length;
  const format = asObject(asObject(body.text)?.format);
  const instructions = items.filter((item) => /^(system|developer)$/.test(asText(item.role)));
  return {
    system: [asText(body.instructions), ...instructions.map((item) => textOf(item.content))]
      .join("\n"),
    question: textOf(users.at(-1)?.content),
    earlier: users.slice(0, -1).map((item) => textOf(item.content)),
    media: mediaOf(users.at(-1)?.content, "input"),
    outcomes: sinceUser.slice(sinceUser.findLastIndex(isCall) + 1)
      .filter((item) => asText(item.type).endsWith("_call_output"))
      .map((item) => ({
        name: toolNames.get(item.call_id) ?? "",
        text: textOf(item.output),
        isError: item.status === "incomplete",
        media: mediaOf(item.output, "input"),
      })),
    toolRounds: roundsIn(sinceUser),
    allToolRounds: roundsIn(items),
    tools: toolsOf(body, items),
    toolMode: toolMode(body.tool_choice),
    mayCallSeveral: body.parallel_tool_calls !== false,
    json: format?.type === "json_schema" || format?.type === "json_object"
      ? { schema: format.schema ?? null }
      : null,
    reasoningSentences: 0,
    maxTokens: asNumber(body.max_output_tokens),
    stop: [],
    hasPreamble: false,
    headerNames: names,
    search: offeredSearch(body),
  };
}

/** The vendor's web search, under any of its names. */
function offeredSearch(body: JsonObject): OfferedSearch | null {
  const tool = objectsIn(body.tools).find(({ type }) => asText(type).startsWith("web_search"));
  const choice = body.tool_choice;
  if (!tool || choice === "none") return null;
  const listed = objectsIn(asObject(choice)?.tools);
  const isListed = listed.some(({ type }) => asText(type).startsWith("web_search"));
  if (listed.length > 0 && !isListed) return null;
  const isAlone = objectsIn(body.tools).length === 1;
  return {
    isDemanded: (choice === "required" && isAlone) || (isListed && listed.length === 1) ||
      asText(asObject(choice)?.type).startsWith("web_search"),
    maxUses: asNumber(body.max_tool_calls),
    hosts: asArray(asObject(tool.filters)?.allowed_domains).map((host) => asText(host)),
  };
}

/** Returns the tools of the request, and those that items of the conversation add. */
function toolsOf(body: JsonObject, items: readonly JsonObject[]): OfferedTool[] {
  const added = items.filter(({ type }) =>
    /^(additional_tools|tool_search_output)$/.test(asText(type))
  );
  return [body, ...added].flatMap(({ tools }) => offeredIn(tools));
}

/** Returns the functions and custom tools of a list, also those in its namespaces. */
function offeredIn(tools: unknown, namespace: { namespace?: string } = {}): OfferedTool[] {
  return objectsIn(tools).flatMap((tool) => {
    if (tool.type === "namespace") return offeredIn(tool.tools, { namespace: asText(tool.name) });
    return /^(function|custom)$/.test(asText(tool.type)) ? [offered(tool, namespace)] : [];
  });
}

function offered(tool: JsonObject, namespace: { namespace?: string }): OfferedTool {
  return {
    name: asText(tool.name),
    ...namespace,
    description: asText(tool.description),
    schema: tool.parameters ?? null,
    isFreeText: tool.type === "custom",
  };
}

function toolMode(choice: unknown): Prompt["toolMode"] {
  if (choice === "none") return { kind: "none" };
  if (choice === "required") return { kind: "forced", names: [] };
  const object = asObject(choice);
  if (object?.type === "allowed_tools") {
    const names = objectsIn(object.tools).map((tool) => asText(tool.name));
    return object.mode === "required" ? { kind: "forced", names } : { kind: "auto" };
  }
  return object?.name ? { kind: "forced", names: [asText(object.name)] } : { kind: "auto" };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return objectsIn(content).map((part) => asText(part.text)).filter((text) => text !== "")
    .join("\n");
}

function mediaOf(content: unknown, path: string): Medium[] {
  try {
    return objectsIn(content).flatMap((part): Medium[] => {
      const address = asText(part.image_url) || asText(part.file_url);
      if (address !== "") return [mediumFromUrl(address)];
      const data = asText(part.file_data);
      if (data !== "") {
        return [data.startsWith("data:") ? mediumFromUrl(data) : mediumFromBase64(data, "")];
      }
      const audio = asObject(part.input_audio);
      return audio ? [mediumFromBase64(asText(audio.data), `audio/${asText(audio.format)}`)] : [];
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw invalid(path, "invalid_base64_image", `Invalid media at '${path}': ${error.message}.`);
  }
}
